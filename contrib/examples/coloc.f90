! SPDX-License-Identifier: GPL-2.0-or-later
!
! coloc.f90 - libcoloc for Fortran (coloc.h, libcoloc(3)): a module to compile beside a program, and
! below it, with -DCOLOC_EXAMPLE, a program that uses it.
!
!   gfortran -cpp -DCOLOC_EXAMPLE coloc.f90 -lcoloc
module coloc
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: coloc_attach, coloc_detach, coloc_is_attached, coloc_progress, coloc_unit
  public :: coloc_counter, coloc_granted, coloc_cores, coloc_wait

  interface
    ! A handle; c_null_ptr (out of memory) may be passed to all others.
    function coloc_attach() bind(c, name="coloc_attach") result(c)
      import :: c_ptr
      type(c_ptr) :: c
    end function
    subroutine coloc_detach(c) bind(c, name="coloc_detach")
      import :: c_ptr
      type(c_ptr), value :: c
    end subroutine
    ! 1: a daemon serves this process; 0: all calls do nothing.
    function coloc_is_attached(c) bind(c, name="coloc_is_attached") result(yes)
      import :: c_ptr, c_int
      type(c_ptr), value :: c
      integer(c_int) :: yes
    end function
    ! Units of work done since the last call.
    subroutine coloc_progress(c, units) bind(c, name="coloc_progress")
      import :: c_ptr, c_double
      type(c_ptr), value :: c
      real(c_double), value :: units
    end subroutine
    subroutine c_unit(c, unit) bind(c, name="coloc_unit")
      import :: c_ptr, c_char
      type(c_ptr), value :: c
      character(kind=c_char), intent(in) :: unit(*)
    end subroutine
    subroutine c_counter(c, name, v) bind(c, name="coloc_counter")
      import :: c_ptr, c_char, c_double
      type(c_ptr), value :: c
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: v
    end subroutine
    ! Granted cores, 0 unknown; the generation changes with the grant.
    function coloc_granted(c, generation) bind(c, name="coloc_granted") result(cores)
      import :: c_ptr, c_int, c_int32_t
      type(c_ptr), value :: c
      integer(c_int32_t), intent(out) :: generation
      integer(c_int) :: cores
    end function
    ! CPU numbers of the grant into cpus(1:max); the result is how many there are.
    function coloc_cores(c, cpus, max) bind(c, name="coloc_cores") result(n)
      import :: c_ptr, c_int
      type(c_ptr), value :: c
      integer(c_int), intent(out) :: cpus(*)
      integer(c_int), value :: max
      integer(c_int) :: n
    end function
    ! 1: another grant than generation's; 0: timeout_ms passed; -1: not attached.
    function coloc_wait(c, generation, timeout_ms) bind(c, name="coloc_wait") result(changed)
      import :: c_ptr, c_int, c_int32_t
      type(c_ptr), value :: c
      integer(c_int32_t), value :: generation
      integer(c_int), value :: timeout_ms
      integer(c_int) :: changed
    end function
  end interface

contains

  ! What is counted, at most 8 characters.
  subroutine coloc_unit(c, unit)
    type(c_ptr), intent(in) :: c
    character(*), intent(in) :: unit
    call c_unit(c, trim(unit) // c_null_char)
  end subroutine

  subroutine coloc_counter(c, name, v)
    type(c_ptr), intent(in) :: c
    character(*), intent(in) :: name
    real(c_double), intent(in) :: v
    call c_counter(c, trim(name) // c_null_char, v)
  end subroutine
end module

#ifdef COLOC_EXAMPLE
program example
  use, intrinsic :: iso_c_binding
  use coloc
  implicit none
  type(c_ptr) :: c
  integer(c_int32_t) :: generation
  integer :: i

  c = coloc_attach()
  call coloc_unit(c, "sweeps")
  do i = 1, 3
    call coloc_progress(c, 1.0_c_double)
  end do
  call coloc_counter(c, "residual", 0.5_c_double)
  print "(a, i0, a, i0)", "attached ", coloc_is_attached(c), " cores ", coloc_granted(c, generation)
  call coloc_detach(c)
end program
#endif
