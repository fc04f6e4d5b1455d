! Messages in Fortran, through mpif.h (with -DMPIF_H) or the module mpi: all kinds of waits and tests, whose indices
! begin with 1, wildcards, ignored statuses, absolute addresses, persistent requests, probes.
program fortran_p2p
#ifndef MPIF_H
  use mpi
#endif
  implicit none
#ifdef MPIF_H
  include 'mpif.h'
#endif
  integer, parameter :: count = 100
  integer :: rank, ranks, left, right, ierror
  integer :: sent(count), received(count)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call start_saying(rank, ranks)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  call modes()
  call waits()
  call tests()
  call wildcards()
  call absolute()
  call persistent()
  call exchanges()
  call cancelled()
  call MPI_Pcontrol(1)
  call MPI_Pcontrol(0)
  call MPI_Finalize(ierror)
  call stop_saying()

contains

  subroutine modes()
    integer :: requests(4), statuses(MPI_STATUS_SIZE, 4), i, bytes
    integer :: into(count, 4), buffer(8000)
    call fill(sent, count, rank)
    bytes = 4*8000
    call MPI_Buffer_attach(buffer, bytes, ierror)
    do i = 1, 4
      call MPI_Irecv(into(1, i), count, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i), ierror)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Send(sent, count, MPI_INTEGER, right, 1, MPI_COMM_WORLD, ierror)
    call MPI_Bsend(sent, count, MPI_INTEGER, right, 2, MPI_COMM_WORLD, ierror)
    call MPI_Ssend(sent, count, MPI_INTEGER, right, 3, MPI_COMM_WORLD, ierror)
    call MPI_Rsend(sent, count, MPI_INTEGER, right, 4, MPI_COMM_WORLD, ierror)
    call MPI_Waitall(4, requests, statuses, ierror)
    call say_number('source', statuses(MPI_SOURCE, 3))
    call say_number('tag', statuses(MPI_TAG, 4))
    call say_numbers('modes', into, 4*count)
    call MPI_Buffer_detach(buffer, bytes, ierror)
    call MPI_Irecv(into, count, MPI_INTEGER, left, 5, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Issend(sent, count, MPI_INTEGER, right, 5, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    call say_numbers('issend', into, count)
  end subroutine

  ! Receives first, then sends.
  subroutine start_exchange(requests, seed)
    integer, intent(out) :: requests(6)
    integer, intent(in) :: seed
    integer :: i
    call fill(sent, count, rank + seed)
    do i = 1, 3
      call MPI_Irecv(received(10*i), 10, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i), ierror)
    end do
    do i = 1, 3
      call MPI_Isend(sent(10*i), 10, MPI_INTEGER, right, i, MPI_COMM_WORLD, requests(3 + i), ierror)
    end do
  end subroutine

  subroutine waits()
    integer :: requests(6), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 6), indices(6)
    integer :: i, index, outcount, done, total
    received = 0
    call start_exchange(requests, 1)
    do i = 6, 2, -1
      call MPI_Wait(requests(i), MPI_STATUS_IGNORE, ierror)
    end do
    call MPI_Wait(requests(1), status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, i, ierror)
    call say_number('count', i)
    call start_exchange(requests, 2)
    total = 0
    do i = 1, 6
      call MPI_Waitany(6, requests, index, status, ierror)
      total = total + index
    end do
    call say_number('indices from 1', total)
    call MPI_Waitany(6, requests, index, MPI_STATUS_IGNORE, ierror)
    call say_number('none left', merge(1, 0, index == MPI_UNDEFINED))
    call start_exchange(requests, 3)
    total = 0
    done = 0
    do while (done < 6)
      call MPI_Waitsome(6, requests, outcount, indices, statuses, ierror)
      total = total + sum(indices(1:outcount))
      done = done + outcount
    end do
    call say_number('indices from 1', total)
    call say_numbers('waits', received, count)
  end subroutine

  subroutine tests()
    integer :: requests(6), status(MPI_STATUS_SIZE), indices(6), i, index, outcount, done, total
    logical :: flag
    call start_exchange(requests, 4)
    do i = 1, 6
      flag = .false.
      do while (.not. flag)
        call MPI_Test(requests(i), flag, status, ierror)
      end do
    end do
    call start_exchange(requests, 5)
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(6, requests, flag, MPI_STATUSES_IGNORE, ierror)
    end do
    call start_exchange(requests, 6)
    total = 0
    done = 0
    do while (done < 6)
      call MPI_Testany(6, requests, index, flag, MPI_STATUS_IGNORE, ierror)
      if (flag) done = done + 1
      if (flag) total = total + index
    end do
    call say_number('indices from 1', total)
    call start_exchange(requests, 7)
    total = 0
    done = 0
    do while (done < 6)
      call MPI_Testsome(6, requests, outcount, indices, MPI_STATUSES_IGNORE, ierror)
      total = total + sum(indices(1:outcount))
      done = done + outcount
    end do
    call say_number('indices from 1', total)
    call say_numbers('tests', received, count)
  end subroutine

  ! Rank 0 receives from the others in any order.
  subroutine wildcards()
    integer :: status(MPI_STATUS_SIZE), i, number, total
    logical :: flag
    total = 0
    if (rank /= 0) then
      call MPI_Send(rank, 1, MPI_INTEGER, 0, 10 + rank, MPI_COMM_WORLD, ierror)
      call MPI_Send(rank, 1, MPI_INTEGER, 0, 9, MPI_COMM_WORLD, ierror)
    else
      do i = 1, ranks - 1
        call MPI_Recv(number, 1, MPI_INTEGER, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
        total = total + number
      end do
      do i = 1, ranks - 1
        call MPI_Probe(i, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierror)
        flag = .false.
        do while (.not. flag)
          call MPI_Iprobe(i, status(MPI_TAG), MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, ierror)
        end do
        call MPI_Recv(number, 1, MPI_INTEGER, MPI_ANY_SOURCE, status(MPI_TAG), MPI_COMM_WORLD, status, ierror)
        total = total + number*status(MPI_SOURCE)*status(MPI_TAG)
      end do
      call say_number('as they come', total)
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end subroutine

  ! Data at absolute addresses, sent from MPI_BOTTOM.
  subroutine absolute()
    integer, target, save :: there(20), back(20)
    integer(MPI_ADDRESS_KIND) :: places(1)
    integer :: lengths(1), datatype, target_type, request
    lengths = 20
    call fill(there, 20, rank)
    call MPI_Get_address(there, places(1), ierror)
    call MPI_Type_create_hindexed(1, lengths, places, MPI_INTEGER, datatype, ierror)
    call MPI_Type_commit(datatype, ierror)
    call MPI_Get_address(back, places(1), ierror)
    call MPI_Type_create_hindexed(1, lengths, places, MPI_INTEGER, target_type, ierror)
    call MPI_Type_commit(target_type, ierror)
    call MPI_Isend(MPI_BOTTOM, 1, datatype, right, 20, MPI_COMM_WORLD, request, ierror)
    call MPI_Recv(MPI_BOTTOM, 1, target_type, left, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call say_numbers('absolute', back, 20)
    call MPI_Type_free(datatype, ierror)
    call MPI_Type_free(target_type, ierror)
  end subroutine

  subroutine persistent()
    integer :: requests(3), statuses(MPI_STATUS_SIZE, 3), i
    call MPI_Recv_init(received, 10, MPI_INTEGER, left, 30, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Send_init(sent, 10, MPI_INTEGER, right, 30, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Recv_init(received(11), 10, MPI_INTEGER, MPI_PROC_NULL, 30, MPI_COMM_WORLD, requests(3), ierror)
    do i = 1, 5
      call fill(sent, 10, rank*i)
      call MPI_Startall(2, requests, ierror)
      call MPI_Start(requests(3), ierror)
      call MPI_Waitall(3, requests, statuses, ierror)
      call say_number('source again', statuses(MPI_SOURCE, 1))
      call say_numbers('again', received, 10)
    end do
    do i = 1, 3
      call MPI_Request_free(requests(i), ierror)
    end do
  end subroutine

  subroutine exchanges()
    integer :: status(MPI_STATUS_SIZE)
    call fill(sent, count, rank)
    call MPI_Sendrecv(sent, count, MPI_INTEGER, right, 40, received, count, MPI_INTEGER, left, 40, &
      MPI_COMM_WORLD, status, ierror)
    call say_number('exchanged with', status(MPI_SOURCE))
    call say_numbers('exchanged', received, count)
    call MPI_Sendrecv_replace(sent, count, MPI_INTEGER, left, 41, MPI_ANY_SOURCE, 41, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE, ierror)
    call say_numbers('replaced', sent, count)
  end subroutine

  subroutine cancelled()
    integer :: request, status(MPI_STATUS_SIZE)
    logical :: flag
    call MPI_Irecv(received, 1, MPI_INTEGER, left, 50, MPI_COMM_WORLD, request, ierror)
    call MPI_Cancel(request, ierror)
    call MPI_Wait(request, status, ierror)
    call MPI_Test_cancelled(status, flag, ierror)
    call say_number('cancelled', merge(1, 0, flag))
  end subroutine
end program
