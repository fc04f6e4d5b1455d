"""A ring, a reduction and pickled objects with mpi4py, whose interpreter loads MPI while it runs."""
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
left, right = (rank - 1) % ranks, (rank + 1) % ranks

received = world.sendrecv({"from": rank}, dest=right, source=left)
numbers = bytearray(1000)
requests = [world.Irecv(numbers, source=MPI.ANY_SOURCE, tag=2), world.Isend(bytes([rank]) * 1000, dest=right, tag=2)]
MPI.Request.Waitall(requests)
total = world.allreduce(rank)
half = world.Split(rank % 2, rank)
members = half.allgather(rank)
half.Free()
sys.stdout.write(f"{rank}: {received} {sum(numbers)} {total} {members}\n")
