# cmake -DBUILD=<build tree> -DOUTSIDE=<outside/> -DREADME=README.md -DWORK=<scratch> -DVERSION=0.1.0 -DCC=cc \
#   -DCXX=c++ -P check.cmake
# Installs into a prefix, moves the prefix (nothing may remember where it was), then builds and runs a stranger's C and
# C++ programs against it, once by find_package(mycel) and once by pkg-config.
cmake_minimum_required(VERSION 3.25)

function(run)
  list(JOIN ARGN " " text)
  message(STATUS "${text}")
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${text}\n${out}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

function(run_program)
  run(${ARGN})
  if(NOT output MATCHES "2 ranks agree")
    message(FATAL_ERROR "unexpected output: ${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/prefix)
set(prefix ${WORK}/prefix)

# By the CMake package; a version that does not exist yet must be refused.
set(configure ${CMAKE_COMMAND} -S ${OUTSIDE} -G Ninja -DCMAKE_PREFIX_PATH=${prefix}
  -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX})
run(${configure} -B ${WORK}/outside -DWANTED=${VERSION})
run(${CMAKE_COMMAND} --build ${WORK}/outside)
run_program(${WORK}/outside/outside_c)
run_program(${WORK}/outside/outside_cc)
run_program(${WORK}/outside/for_nccl)
execute_process(COMMAND ${configure} -B ${WORK}/refused -DWANTED=99.0 RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
if(result EQUAL 0)
  message(FATAL_ERROR "find_package(mycel 99.0) was satisfied by ${VERSION}")
endif()

# By pkg-config.
file(GLOB_RECURSE pc ${prefix}/mycel.pc)
cmake_path(GET pc PARENT_PATH pc_dir)
set(ENV{PKG_CONFIG_PATH} ${pc_dir})
run(pkg-config --modversion mycel)
string(STRIP "${output}" found)
if(NOT found STREQUAL VERSION)
  message(FATAL_ERROR "mycel.pc says version ${found}, not ${VERSION}")
endif()
run(pkg-config --cflags --libs mycel)
separate_arguments(flags UNIX_COMMAND "${output}")
run(pkg-config --variable=libdir mycel)
string(STRIP "${output}" libdir)
set(ENV{LD_LIBRARY_PATH} ${libdir})
run(${CC} -std=c99 -Wall -Wextra -Wpedantic -Werror -o ${WORK}/by_pc_c ${OUTSIDE}/program.c ${flags})
run_program(${WORK}/by_pc_c)
run(${CXX} -std=c++11 -Wall -Wextra -Wpedantic -Werror -o ${WORK}/by_pc_cc ${WORK}/outside/program.cc ${flags})
run_program(${WORK}/by_pc_cc)

# The README's program compiles as it stands and prints what it says.
file(READ ${README} readme)
string(REGEX MATCH "```c\n([^`]*)```" _ "${readme}")
file(WRITE ${WORK}/readme.c "${CMAKE_MATCH_1}")
run(${CC} -std=c99 -Wall -Wextra -Wpedantic -Werror -o ${WORK}/readme ${WORK}/readme.c ${flags})
run(${WORK}/readme)
if(NOT output MATCHES "^11 44")
  message(FATAL_ERROR "the README's program printed: ${output}")
endif()

# The programs find the library beside them, without help.
unset(ENV{LD_LIBRARY_PATH})
run(${prefix}/bin/all_reduce_perf --procs 2 -b 1K -e 1K -n 5 -w 1)
run(${prefix}/bin/mycel info)
