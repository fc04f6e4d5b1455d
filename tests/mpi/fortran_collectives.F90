! Collectives and communicators in Fortran, through mpif.h (with -DMPIF_H) or the module mpi: in place, with blocks of
! different sizes, nonblocking, on subsets of MPI_COMM_WORLD.
program fortran_collectives
#ifndef MPIF_H
  use mpi
#endif
  implicit none
#ifdef MPIF_H
  include 'mpif.h'
#endif
  integer, parameter :: block = 6, most = 16
  integer :: rank, ranks, ierror, i
  integer :: mine(block*most), all(block*most), counts(most), places(most), pairs(most)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call start_saying(rank, ranks)
  do i = 1, ranks
    counts(i) = mod(i, block)
    places(i) = block*(i - 1)
    pairs(i) = mod(i - 1 + rank, 3)
  end do
  call rooted(ranks - 1)
  call unrooted()
  call in_place()
  call nonblocking()
  call parts()
  call regions()
  call MPI_Finalize(ierror)
  call stop_saying()

contains

  subroutine clear()
    call fill(mine, block*most, rank)
    all = 0
  end subroutine

  subroutine rooted(root)
    integer, intent(in) :: root
    call clear()
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Gather(mine, block, MPI_INTEGER, all, block, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
    call say_numbers('gather', all, block*most)
    call MPI_Gatherv(mine, counts(rank + 1), MPI_INTEGER, all, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
    call say_numbers('gatherv', all, block*most)
    call MPI_Scatter(mine, block, MPI_INTEGER, all, block, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
    call say_numbers('scatter', all, block*most)
    call MPI_Scatterv(mine, counts, places, MPI_INTEGER, all, counts(rank + 1), MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
    call say_numbers('scatterv', all, block*most)
    call MPI_Reduce(mine, all, block, MPI_INTEGER, MPI_MAX, root, MPI_COMM_WORLD, ierror)
    call say_numbers('reduce', all, block*most)
    call MPI_Bcast(mine, block, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
    call say_numbers('bcast', mine, block*most)
  end subroutine

  subroutine unrooted()
    call clear()
    call MPI_Allgather(mine, block, MPI_INTEGER, all, block, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call say_numbers('allgather', all, block*most)
    call MPI_Allgatherv(mine, counts(rank + 1), MPI_INTEGER, all, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call say_numbers('allgatherv', all, block*most)
    call MPI_Alltoall(mine, block, MPI_INTEGER, all, block, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call say_numbers('alltoall', all, block*most)
    call MPI_Alltoallv(mine, pairs, places, MPI_INTEGER, all, pairs, places, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call say_numbers('alltoallv', all, block*most)
    call MPI_Allreduce(mine, all, block, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD, ierror)
    call say_numbers('allreduce', all, block*most)
    call MPI_Reduce_scatter_block(mine, all, block, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
    call say_numbers('reduce_scatter_block', all, block*most)
    call MPI_Reduce_scatter(mine, all, counts, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
    call say_numbers('reduce_scatter', all, block*most)
    call MPI_Scan(mine, all, block, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
    call MPI_Exscan(mine, all(block + 1), block, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
    call say_numbers('scans', all, block*most)
  end subroutine

  subroutine in_place()
    integer :: ignored
    call clear()
    call MPI_Allreduce(MPI_IN_PLACE, mine, block, MPI_INTEGER, MPI_BXOR, MPI_COMM_WORLD, ierror)
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, mine, block, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, mine, block, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, mine, block, MPI_INTEGER, MPI_BXOR, 0, MPI_COMM_WORLD, ierror)
      call MPI_Gather(MPI_IN_PLACE, 0, MPI_INTEGER, mine, block, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
      call MPI_Scatter(mine, block, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    else
      call MPI_Reduce(mine, ignored, block, MPI_INTEGER, MPI_BXOR, 0, MPI_COMM_WORLD, ierror)
      call MPI_Gather(mine, block, MPI_INTEGER, ignored, 0, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
      call MPI_Scatter(ignored, 0, MPI_INTEGER, mine, block, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    end if
    call say_numbers('in place', mine, block*most)
  end subroutine

  subroutine nonblocking()
    integer :: requests(8), sums(block), firsts(block), blocks(block*most), gathered(block*most), scanned(block)
    logical :: flag
    call clear()
    firsts = rank
    blocks = 0
    gathered = 0
    call MPI_Ibarrier(MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Ibcast(firsts, block, MPI_INTEGER, 0, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Iallreduce(mine, sums, block, MPI_INTEGER, MPI_BXOR, MPI_COMM_WORLD, requests(3), ierror)
    call MPI_Ialltoall(mine, block, MPI_INTEGER, blocks, block, MPI_INTEGER, MPI_COMM_WORLD, requests(4), ierror)
    call MPI_Igatherv(mine, counts(rank + 1), MPI_INTEGER, gathered, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, &
      requests(5), ierror)
    call MPI_Iscan(mine, scanned, block, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, requests(6), ierror)
    call MPI_Iallgather(mine, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD, requests(7), ierror)
    call MPI_Ireduce(mine, all(most + 1), 1, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, requests(8), ierror)
    call MPI_Wait(requests(8), MPI_STATUS_IGNORE, ierror)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(requests(2), flag, MPI_STATUS_IGNORE, ierror)
    end do
    call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE, ierror)
    call say_numbers('nonblocking', [firsts, sums, blocks, gathered, scanned, all], 3*block + 3*block*most)
  end subroutine

  subroutine parts()
    integer :: part, grid, row, copy, world, group, comm, total, shape(2), members(1)
    logical :: periodic(2), remain(2)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, part, ierror)
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, part, ierror)
    call say_number('odd or even', total)
    call MPI_Comm_dup(part, copy, ierror)
    call MPI_Bcast(total, 1, MPI_INTEGER, 0, copy, ierror)
    call MPI_Comm_free(copy, ierror)
    call MPI_Comm_free(part, ierror)
    call MPI_Comm_split(MPI_COMM_WORLD, merge(MPI_UNDEFINED, 1, rank == 0), rank, part, ierror)
    call say_number('left out', merge(1, 0, part == MPI_COMM_NULL))
    if (part /= MPI_COMM_NULL) then
      call MPI_Barrier(part, ierror)
      call MPI_Comm_free(part, ierror)
    end if
    shape = 0
    periodic = .true.
    remain = [.true., .false.]
    call MPI_Dims_create(ranks, 2, shape, ierror)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periodic, .false., grid, ierror)
    call MPI_Cart_sub(grid, remain, row, ierror)
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, row, ierror)
    call say_number('along a row', total)
    call MPI_Comm_free(row, ierror)
    call MPI_Comm_free(grid, ierror)
    call MPI_Comm_group(MPI_COMM_WORLD, world, ierror)
    members(1) = ranks - 1
    call MPI_Group_incl(world, 1, members, group, ierror)
    call MPI_Comm_create(MPI_COMM_WORLD, group, comm, ierror)
    call say_number('last', merge(1, 0, comm /= MPI_COMM_NULL))
  end subroutine

  subroutine regions()
    call counted('straggler_region_enter')
    call straggler_region_enter('solve')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call counted('straggler_region_leave')
    call straggler_region_leave('solve')
    call MPI_Pcontrol(2)
  end subroutine
end program
