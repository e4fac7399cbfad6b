! Collectives called from Fortran, by the module mpi or mpi_f08, as MODULE says, with requests of type REQUEST and communicators of type COMM; prints "fortran: right" when all results are.
program fortran
  use MODULE
  implicit none
  integer :: rank, ranks, error, i
  integer :: own(4), total(4)
  integer, allocatable :: all(:)
  logical :: is_right, everywhere
  REQUEST :: started
  COMM :: ring
  call mpi_init(error)
  call mpi_comm_rank(mpi_comm_world, rank, error)
  call mpi_comm_size(mpi_comm_world, ranks, error)
  own = [(rank + i, i = 1, 4)]
  call mpi_allreduce(own, total, 4, mpi_integer, mpi_sum, mpi_comm_world, error)
  is_right = all_equal(total)
  total = own
  call mpi_allreduce(mpi_in_place, total, 4, mpi_integer, mpi_sum, mpi_comm_world, error)
  is_right = is_right .and. all_equal(total)
  total = 0
  call mpi_iallreduce(own, total, 4, mpi_integer, mpi_sum, mpi_comm_world, started, error)
  call mpi_wait(started, mpi_status_ignore, error)
  is_right = is_right .and. all_equal(total)
  allocate(all(4 * ranks))
  call mpi_allgather(own, 4, mpi_integer, all, 4, mpi_integer, mpi_comm_world, error)
  do i = 0, ranks - 1
    is_right = is_right .and. all(4 * i + 1) == i + 1 .and. all(4 * i + 4) == i + 4
  end do
  all = 0
  call mpi_gatherv(own, 4, mpi_integer, all, [(4, i = 1, ranks)], [(4 * i, i = 0, ranks - 1)], mpi_integer, 0, &
                   mpi_comm_world, error)
  if (rank == 0) is_right = is_right .and. all(4 * ranks) == ranks + 3
  call mpi_scatterv(all, [(4, i = 1, ranks)], [(4 * i, i = 0, ranks - 1)], mpi_integer, total, 4, mpi_integer, 0, &
                    mpi_comm_world, error)
  is_right = is_right .and. total(4) == rank + 4
  call mpi_allgatherv(rank, 1, mpi_integer, all, [(1, i = 1, ranks)], [(i, i = 0, ranks - 1)], mpi_integer, &
                      mpi_comm_world, error)
  is_right = is_right .and. all(ranks) == ranks - 1
  call mpi_alltoallv(all(1:ranks), [(1, i = 1, ranks)], [(i, i = 0, ranks - 1)], mpi_integer, all(ranks + 1:), &
                     [(1, i = 1, ranks)], [(i, i = 0, ranks - 1)], mpi_integer, mpi_comm_world, error)
  is_right = is_right .and. all(2 * ranks) == rank
  call mpi_exscan(own, total, 4, mpi_integer, mpi_sum, mpi_comm_world, error)
  if (rank == 1) is_right = is_right .and. total(4) == 4
  call mpi_cart_create(mpi_comm_world, 1, [ranks], [.true.], .false., ring, error)
  call mpi_neighbor_allgather(rank, 1, mpi_integer, all, 1, mpi_integer, ring, error)
  is_right = is_right .and. all(1) == modulo(rank - 1, ranks) .and. all(2) == modulo(rank + 1, ranks)
  call mpi_neighbor_alltoall(own, 1, mpi_integer, all, 1, mpi_integer, ring, error)
  is_right = is_right .and. all(1) == modulo(rank - 1, ranks) + 2 .and. all(2) == modulo(rank + 1, ranks) + 1
  call mpi_comm_free(ring, error)
  total = merge(own, 0, rank == ranks - 1)
  call mpi_bcast(total, 4, mpi_integer, ranks - 1, mpi_comm_world, error)
  is_right = is_right .and. total(1) == ranks
  call mpi_barrier(mpi_comm_world, error)
  call mpi_reduce(is_right, everywhere, 1, mpi_logical, mpi_land, 0, mpi_comm_world, error)
  if (rank == 0 .and. everywhere) print '(a)', 'fortran: right'
  call mpi_finalize(error)
contains
  logical function all_equal(sum)
    integer, intent(in) :: sum(4)
    integer :: k
    all_equal = .true.
    do k = 1, 4
      all_equal = all_equal .and. sum(k) == ranks * (ranks - 1) / 2 + k * ranks
    end do
  end function
end program
