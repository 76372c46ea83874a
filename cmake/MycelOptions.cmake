# Language level, warnings, sanitizers and where outputs go.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

option(MYCEL_BUILD_TESTS "Build the tests" ON)
option(MYCEL_BUILD_BENCH "Build the benchmark programs" ON)
option(MYCEL_BUILD_CLI "Build the command and its tests" ON)
option(MYCEL_WERROR "Treat warnings as errors" ON)
set(MYCEL_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (address,undefined or thread)")
option(MYCEL_FUZZ "Build the libFuzzer targets (clang)" OFF)
set(MYCEL_TEST_LABEL "" CACHE STRING "Declare only the tests with this label; empty means all")

set(MYCEL_CUDA AUTO CACHE STRING "CUDA kernels: AUTO (where nvcc is), ON (nvcc must be there) or OFF")
set(MYCEL_HIP AUTO CACHE STRING "HIP kernels: AUTO (where hipcc is), ON (hipcc must be there) or OFF")
set(MYCEL_CUDA_ARCHITECTURES 80 90 100 CACHE STRING "CUDA architectures: A100, H100 and H200, B200")
set(MYCEL_HIP_ARCHITECTURES gfx90a gfx940 CACHE STRING "HIP architectures: MI250, MI300")

if(NOT MYCEL_SANITIZE)  # clang leaves the sanitizers' own names to the program
  set(CMAKE_SHARED_LINKER_FLAGS "${CMAKE_SHARED_LINKER_FLAGS} -Wl,--no-undefined")
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

include(GNUInstallDirs)
file(RELATIVE_PATH MYCEL_BIN_TO_LIB /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
set(CMAKE_INSTALL_RPATH $ORIGIN/${MYCEL_BIN_TO_LIB} $ORIGIN)  # programs and libraries find libmycel beside them

find_program(MYCEL_CCACHE ccache)
if(MYCEL_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${MYCEL_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${MYCEL_CCACHE})
endif()

# Every Mycel target links this: flags live in one place.
add_library(mycel_flags INTERFACE)
target_include_directories(mycel_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_compile_options(mycel_flags INTERFACE
  -Wall -Wextra -Wshadow -Wpedantic -Wcast-align -Wimplicit-fallthrough
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  # What a lock guards is touched under it only (core/base/mutex.h).
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # GCC 12 reports std::string's operator+ falsely (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${MYCEL_WERROR}>:-Werror>)
if(MYCEL_SANITIZE)
  # enum: the C API checks its callers' values and does not trust them; reading a bad one must not end the process.
  set(sanitize -fsanitize=${MYCEL_SANITIZE} -fno-sanitize=enum -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(MYCEL_SANITIZE MATCHES "thread")
    # GCC's TSan misses races through inlined small memcpy; keep the calls visible to it.
    list(APPEND sanitize -fno-builtin-memcpy)
  endif()
  if(MYCEL_SANITIZE MATCHES "address.*undefined")
    # AddressSanitizer sees these too, and they cost a third of the compile time.
    list(APPEND sanitize -fno-sanitize=null,object-size,vptr)
  endif()
  target_compile_options(mycel_flags INTERFACE ${sanitize})
  target_link_options(mycel_flags INTERFACE -fsanitize=${MYCEL_SANITIZE})
endif()
if(MYCEL_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "MYCEL_FUZZ=ON needs clang (libFuzzer): cmake --preset fuzz")
  endif()
  target_compile_options(mycel_flags INTERFACE -fsanitize=fuzzer-no-link)  # the fuzzer follows every branch
endif()
