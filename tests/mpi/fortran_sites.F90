! Pauses and call sites in Fortran. `if (.true.)` keeps a call out of the counts: it is not in the tables of the trace.
program fortran_sites
#ifndef MPIF_H
  use mpi
#endif
  implicit none
#ifdef MPIF_H
  include 'mpif.h'
#endif
  integer :: rank, ranks, left, right, ierror, i
  integer :: sent(10), received(10), later(10), requests(2)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call start_saying(rank, ranks)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  call fill(sent, 10, rank)
  do i = 1, 3
    call around()
  end do
  call MPI_Irecv(received, 10, MPI_INTEGER, left, 2, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Isend(sent, 10, MPI_INTEGER, right, 2, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Pcontrol(0)
  if (.true.) call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  if (.true.) call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (.true.) call MPI_Irecv(later, 10, MPI_INTEGER, left, 3, MPI_COMM_WORLD, requests(1), ierror)
  if (.true.) call MPI_Isend(sent, 10, MPI_INTEGER, right, 3, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Pcontrol(1)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  call say_numbers('received', received, 10)
  call say_numbers('later', later, 10)
  call MPI_Finalize(ierror)
  call stop_saying()

contains

  subroutine around()
    ! Only five of ten arrive.
    call MPI_Sendrecv(sent, 5, MPI_INTEGER, right, 1, received, 10, MPI_INTEGER, left, 1, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE, ierror)
    call say_numbers('around', received, 5)
  end subroutine
end program
