! Calls of Fortran that a trace tells of.
program traced
  use mpi
  implicit none
  integer :: error, rank, ranks, right, left, half, requests(2), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
  double precision :: sent(4), got(4), total

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  sent = rank
  call MPI_Irecv(got, 4, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, requests(1), error)
  call MPI_Isend(sent, 4, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, requests(2), error)
  call MPI_Waitall(2, requests, statuses, error)
  if (statuses(MPI_SOURCE, 1) /= left .or. got(1) /= left) call MPI_Abort(MPI_COMM_WORLD, 3, error)
  call MPI_Sendrecv(sent, 1, MPI_DOUBLE_PRECISION, left, 2, got, 4, MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, &
                    status, error)
  if (status(MPI_TAG) /= 2 .or. got(1) /= right) call MPI_Abort(MPI_COMM_WORLD, 3, error)
  call MPI_Irecv(got, 4, MPI_DOUBLE_PRECISION, left, 3, MPI_COMM_WORLD, requests(1), error)
  call MPI_Send(sent, 2, MPI_DOUBLE_PRECISION, right, 3, MPI_COMM_WORLD, error)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half, error)
  total = 1
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, half, error)
  call MPI_Comm_free(half, error)
  call MPI_Bcast(sent, 3, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program traced
