! The module mpi_f08: handles have types, statuses have fields, and error codes are omitted.
program fortran_f08
  use mpi_f08
  implicit none
  integer, parameter :: count = 60, most = 16
  integer :: rank, ranks, left, right
  integer, asynchronous :: sent(count), received(count)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call start_saying(rank, ranks)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  call waits()
  call tests()
  call wildcards()
  call persistent()
  call exchanges()
  call collectives()
  call nonblocking()
  call parts()
  call MPI_Pcontrol(1)
  call MPI_Finalize()
  call stop_saying()

contains

  subroutine start_exchange(requests, seed)
    type(MPI_Request), intent(out) :: requests(6)
    integer, intent(in) :: seed
    integer :: i
    call fill(sent, count, rank + seed)
    do i = 1, 3
      call MPI_Irecv(received(10*i:10*i + 9), 10, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i))
    end do
    call MPI_Isend(sent(10:19), 10, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(4))
    call MPI_Isend(sent(20:29), 10, MPI_INTEGER, right, 2, MPI_COMM_WORLD, requests(5))
    call MPI_Issend(sent(30:39), 10, MPI_INTEGER, right, 3, MPI_COMM_WORLD, requests(6))
  end subroutine

  subroutine waits()
    type(MPI_Request) :: requests(6)
    type(MPI_Status) :: status, statuses(6)
    integer :: indices(6), i, index, outcount, done, total
    received = 0
    call start_exchange(requests, 0)
    do i = 6, 2, -1
      call MPI_Wait(requests(i), MPI_STATUS_IGNORE)
    end do
    call MPI_Wait(requests(1), status)
    call MPI_Get_count(status, MPI_INTEGER, i)
    call say_number('source', status%MPI_SOURCE)
    call say_number('tag', status%MPI_TAG)
    call say_number('count', i)
    call start_exchange(requests, 1)
    call MPI_Waitall(6, requests, statuses)
    call say_number('tag', statuses(3)%MPI_TAG)
    call start_exchange(requests, 2)
    call MPI_Waitall(6, requests, MPI_STATUSES_IGNORE)
    call start_exchange(requests, 3)
    total = 0
    do i = 1, 6
      call MPI_Waitany(6, requests, index, status)
      total = total + index
    end do
    call say_number('indices from 1', total)
    call start_exchange(requests, 4)
    total = 0
    done = 0
    do while (done < 6)
      call MPI_Waitsome(6, requests, outcount, indices, statuses)
      total = total + sum(indices(1:outcount))
      done = done + outcount
    end do
    call say_number('indices from 1', total)
    call say_numbers('waits', received, count)
  end subroutine

  subroutine tests()
    type(MPI_Request) :: requests(6)
    type(MPI_Status) :: status
    integer :: indices(6), i, index, outcount, done, total
    logical :: flag
    call start_exchange(requests, 5)
    do i = 1, 6
      flag = .false.
      do while (.not. flag)
        call MPI_Test(requests(i), flag, status)
      end do
    end do
    call start_exchange(requests, 6)
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(6, requests, flag, MPI_STATUSES_IGNORE)
    end do
    call start_exchange(requests, 7)
    total = 0
    done = 0
    do while (done < 6)
      call MPI_Testany(6, requests, index, flag, MPI_STATUS_IGNORE)
      if (flag) done = done + 1
      if (flag) total = total + index
    end do
    call say_number('indices from 1', total)
    call start_exchange(requests, 8)
    total = 0
    done = 0
    do while (done < 6)
      call MPI_Testsome(6, requests, outcount, indices, MPI_STATUSES_IGNORE)
      total = total + sum(indices(1:outcount))
      done = done + outcount
    end do
    call say_number('indices from 1', total)
    call say_numbers('tests', received, count)
  end subroutine

  subroutine wildcards()
    type(MPI_Status) :: status
    type(MPI_Message) :: message
    integer :: i, number, total
    total = 0
    if (rank /= 0) then
      call MPI_Send(rank, 1, MPI_INTEGER, 0, 9, MPI_COMM_WORLD)
      call MPI_Send(rank, 1, MPI_INTEGER, 0, 10, MPI_COMM_WORLD)
      call MPI_Ssend(rank, 1, MPI_INTEGER, 0, 11, MPI_COMM_WORLD)
    else
      do i = 1, ranks - 1
        call MPI_Recv(number, 1, MPI_INTEGER, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        total = total + number
      end do
      do i = 1, ranks - 1
        call MPI_Probe(MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, status)
        call MPI_Recv(number, 1, MPI_INTEGER, status%MPI_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status)
        total = total + number*status%MPI_SOURCE
      end do
      do i = 1, ranks - 1
        call MPI_Mprobe(MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, message, status)
        call MPI_Mrecv(number, 1, MPI_INTEGER, message, status)
        total = total + number*status%MPI_TAG
      end do
      call say_number('as they come', total)
    end if
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine

  subroutine persistent()
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: statuses(2)
    integer :: i
    call MPI_Recv_init(received, 10, MPI_INTEGER, left, 30, MPI_COMM_WORLD, requests(1))
    call MPI_Send_init(sent, 10, MPI_INTEGER, right, 30, MPI_COMM_WORLD, requests(2))
    do i = 1, 5
      call fill(sent, 10, rank*i)
      if (mod(i, 2) == 0) then
        call MPI_Startall(2, requests)
      else
        call MPI_Start(requests(1))
        call MPI_Start(requests(2))
      end if
      call MPI_Waitall(2, requests, statuses)
      call say_numbers('again', received, 10)
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine

  subroutine exchanges()
    type(MPI_Status) :: status
    call fill(sent, count, rank)
    call MPI_Sendrecv(sent, count, MPI_INTEGER, right, 40, received, count, MPI_INTEGER, left, 40, MPI_COMM_WORLD, status)
    call say_number('exchanged with', status%MPI_SOURCE)
    call say_numbers('exchanged', received, count)
    call MPI_Sendrecv_replace(sent, count, MPI_INTEGER, left, 41, MPI_ANY_SOURCE, 41, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call say_numbers('replaced', sent, count)
  end subroutine

  subroutine collectives()
    integer :: all(count*most), counts(most), places(most), total, i
    all = 0
    do i = 1, ranks
      counts(i) = i - 1
      places(i) = most*(i - 1)
    end do
    call MPI_Bcast(sent, count, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD)
    call MPI_Allgather(sent, count, MPI_INTEGER, all, count, MPI_INTEGER, MPI_COMM_WORLD)
    call say_numbers('allgather', all, count*most)
    call MPI_Gatherv(received, rank, MPI_INTEGER, all, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call say_numbers('gatherv', all, count*most)
    call MPI_Allgatherv(received, rank, MPI_INTEGER, all, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call say_numbers('allgatherv', all, count*most)
    call MPI_Alltoall(received, 2, MPI_INTEGER, all, 2, MPI_INTEGER, MPI_COMM_WORLD)
    call say_numbers('alltoall', all, count*most)
    call MPI_Reduce(received, all, count, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD)
    call MPI_Allreduce(MPI_IN_PLACE, received, count, MPI_INTEGER, MPI_BXOR, MPI_COMM_WORLD)
    call MPI_Scan(received, all, count, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD)
    call say_numbers('in place, scan', all, count*most)
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call say_number('total', total)
  end subroutine

  subroutine nonblocking()
    type(MPI_Request) :: requests(4)
    integer, asynchronous :: sums(count), blocks(2*most), first
    blocks = 0
    first = rank
    call MPI_Ibarrier(MPI_COMM_WORLD, requests(1))
    call MPI_Ibcast(first, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, requests(2))
    call MPI_Iallreduce(sent, sums, count, MPI_INTEGER, MPI_BXOR, MPI_COMM_WORLD, requests(3))
    call MPI_Ialltoall(sent, 2, MPI_INTEGER, blocks, 2, MPI_INTEGER, MPI_COMM_WORLD, requests(4))
    call MPI_Wait(requests(3), MPI_STATUS_IGNORE)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    call say_number('first', first)
    call say_numbers('sums', sums, count)
    call say_numbers('blocks', blocks, 2*most)
  end subroutine

  subroutine parts()
    type(MPI_Comm) :: part, copy
    integer :: total
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, part)
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, part)
    call say_number('odd or even', total)
    call MPI_Comm_dup(part, copy)
    call MPI_Barrier(copy)
    call MPI_Comm_free(copy)
    call MPI_Comm_free(part)
    call MPI_Comm_split(MPI_COMM_WORLD, merge(MPI_UNDEFINED, 1, rank == 0), rank, part)
    call say_number('left out', merge(1, 0, part == MPI_COMM_NULL))
    if (part /= MPI_COMM_NULL) then
      call MPI_Bcast(total, 1, MPI_INTEGER, 0, part)
      call MPI_Comm_free(part)
    end if
  end subroutine
end program
