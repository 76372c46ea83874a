# mycel_library / mycel_program / mycel_test, and the layer law:
#   core <- {scheduler, transport, kernels} <- bindings <- {tests, bench}
#   in core: base <- topo <- plan <- spi <- runtime
# A target's layer is the folder it is declared in. A dependency on a higher or a sibling layer stops the configure.

# The layers each layer may use, itself included.
set(MYCEL_LAYER_core core)
set(MYCEL_LAYER_scheduler core scheduler)
set(MYCEL_LAYER_transport core transport)
set(MYCEL_LAYER_kernels core kernels)
set(MYCEL_LAYER_bindings core scheduler transport kernels bindings)
set(MYCEL_LAYER_bench core scheduler transport kernels bindings bench)
set(MYCEL_LAYER_tests core scheduler transport kernels bindings bench tests)
set(MYCEL_CORE_ORDER base topo plan spi runtime)

function(mycel_layer_of directory out_layer out_sub)
  file(RELATIVE_PATH rel ${PROJECT_SOURCE_DIR} ${directory})
  string(REGEX REPLACE "/.*" "" layer ${rel})
  string(REGEX REPLACE "^[^/]+/?([^/]*).*" "\\1" sub ${rel})
  set(${out_layer} ${layer} PARENT_SCOPE)
  set(${out_sub} "${sub}" PARENT_SCOPE)
endfunction()

# Stops the configuration when `target` (in the current directory) may not use `dep`.
function(mycel_check_layer target dep)
  get_target_property(dep_layer ${dep} MYCEL_LAYER)
  if(NOT dep_layer)
    return()  # third party
  endif()
  get_target_property(dep_sub ${dep} MYCEL_SUBLAYER)
  get_target_property(layer ${target} MYCEL_LAYER)
  get_target_property(sub ${target} MYCEL_SUBLAYER)
  if(NOT dep_layer IN_LIST MYCEL_LAYER_${layer})
    message(FATAL_ERROR "layer law: ${target} (${layer}) may not link ${dep} (${dep_layer})")
  endif()
  if(layer STREQUAL core AND NOT target MATCHES "_test$")
    list(FIND MYCEL_CORE_ORDER ${sub} mine)
    list(FIND MYCEL_CORE_ORDER ${dep_sub} theirs)
    if(theirs GREATER mine)
      message(FATAL_ERROR "layer law: ${target} (core/${sub}) may not link ${dep} (core/${dep_sub})")
    endif()
  endif()
endfunction()

function(mycel_finish_target target)
  cmake_parse_arguments(ARG "" "" "DEPS;THIRD_PARTY" ${ARGN})
  mycel_layer_of(${CMAKE_CURRENT_SOURCE_DIR} layer sub)
  set_target_properties(${target} PROPERTIES MYCEL_LAYER ${layer} MYCEL_SUBLAYER "${sub}")
  foreach(dep IN LISTS ARG_DEPS)
    if(NOT TARGET ${dep})
      message(FATAL_ERROR "layer law: ${target} links ${dep}, which is not declared yet (declare lower layers first)")
    endif()
    mycel_check_layer(${target} ${dep})
  endforeach()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    target_link_libraries(${target} INTERFACE ${ARG_DEPS} ${ARG_THIRD_PARTY})
    target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
    return()
  endif()
  target_link_libraries(${target} PUBLIC ${ARG_DEPS} ${ARG_THIRD_PARTY})
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:mycel_flags>)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
endfunction()

# mycel_library(name SRCS a.cc b.h DEPS mycel_x THIRD_PARTY absl::status): a static part of libmycel.
# mycel_library(name HEADER_ONLY DEPS ...): headers alone, such as the seams in core/spi.
function(mycel_library name)
  cmake_parse_arguments(ARG "HEADER_ONLY" "" "SRCS;DEPS;THIRD_PARTY" ${ARGN})
  if(ARG_HEADER_ONLY)
    add_library(${name} INTERFACE)
  else()
    add_library(${name} STATIC ${ARG_SRCS})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  mycel_finish_target(${name} DEPS ${ARG_DEPS} THIRD_PARTY ${ARG_THIRD_PARTY})
endfunction()

# mycel_program(name SRCS ... DEPS ...): an executable in build/bin.
function(mycel_program name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS;THIRD_PARTY" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  mycel_finish_target(${name} DEPS ${ARG_DEPS} THIRD_PARTY ${ARG_THIRD_PARTY})
  get_target_property(layer ${name} MYCEL_LAYER)
  if(NOT layer STREQUAL tests)
    set_property(GLOBAL APPEND PROPERTY MYCEL_PROGRAMS ${name})
  endif()
endfunction()

# mycel_wants_test(out labels...): whether a test with these labels belongs into this build tree. Labels:
#   threads  has threads or processes that share memory: also run under ThreadSanitizer (preset tsan runs only these)
#   nosan    meaningless under a sanitizer (measures time, counts allocations, needs the whole address space)
#   slow     takes more than about ten seconds
#   serial   runs alone: its processes or deadlines suffer from company
function(mycel_wants_test out)
  set(${out} ON PARENT_SCOPE)
  if(NOT MYCEL_BUILD_TESTS OR (MYCEL_SANITIZE AND nosan IN_LIST ARGN))
    set(${out} OFF PARENT_SCOPE)
  endif()
  if(MYCEL_TEST_LABEL AND NOT MYCEL_TEST_LABEL IN_LIST ARGN)
    set(${out} OFF PARENT_SCOPE)
  endif()
endfunction()

# mycel_test(name SRCS x_test.cc DEPS ... [LABELS threads] [TIMEOUT 60] [GROUPS Kill Stop]): a GoogleTest program, one
# CTest entry. With GROUPS an entry for each group, of the suites whose names begin so, and one for suites of no group:
# tests/run counts by entry.
function(mycel_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SRCS;DEPS;THIRD_PARTY;LABELS;GROUPS" ${ARGN})
  mycel_wants_test(wanted ${ARG_LABELS})
  if(NOT wanted)
    return()
  endif()
  add_executable(${name} ${ARG_SRCS})
  mycel_finish_target(${name} DEPS ${ARG_DEPS}
    THIRD_PARTY ${ARG_THIRD_PARTY} GTest::gtest GTest::gmock GTest::gtest_main)
  # A test's own sources run once: a quarter of their compile time is not worth -O3. What they test keeps it.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_property(GLOBAL APPEND PROPERTY MYCEL_TESTS ${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_GROUPS)
    mycel_test_entry(${name} ${name} "*")
    return()
  endif()
  set(others "-")
  foreach(group IN LISTS ARG_GROUPS)
    mycel_test_entry(${name}.${group} ${name} "${group}*:*/${group}*")
    string(APPEND others "${group}*:*/${group}*:")
  endforeach()
  mycel_test_entry(${name}.others ${name} "${others}")
endfunction()

# One CTest entry of mycel_test, which sets ARG_TIMEOUT and ARG_LABELS.
macro(mycel_test_entry entry program filter)
  add_test(NAME ${entry} COMMAND ${program} --gtest_filter=${filter} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  # No test reads or writes the plans that this user keeps.
  set_tests_properties(${entry} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    ENVIRONMENT "MYCEL_CACHE_DIR=off")
  if(serial IN_LIST ARG_LABELS)
    set_tests_properties(${entry} PROPERTIES RUN_SERIAL ON)
  endif()
endmacro()

# mycel_fuzzer(name SRCS x_fuzz.cc DEPS ... [SEEDS folder]): a libFuzzer program (preset fuzz: clang, MYCEL_FUZZ), run
# for a short while as a test. What it finds on longer runs: build-fuzz/bin/name [folder].
function(mycel_fuzzer name)
  cmake_parse_arguments(ARG "" "SEEDS" "SRCS;DEPS" ${ARGN})
  if(NOT MYCEL_FUZZ)
    return()
  endif()
  add_executable(${name} ${ARG_SRCS})
  mycel_finish_target(${name} DEPS ${ARG_DEPS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set(found ${CMAKE_CURRENT_BINARY_DIR}/${name}_corpus)  # libFuzzer adds to its first folder
  file(MAKE_DIRECTORY ${found})
  add_test(NAME ${name} COMMAND ${name} -seed=1 -max_len=4096 -max_total_time=8 -timeout=10 ${found} ${ARG_SEEDS})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS fuzz)
  set_property(GLOBAL APPEND PROPERTY MYCEL_FUZZERS ${name})
endfunction()

# After all folders: `programs` builds everything in build/bin, and nothing that only tests need; `test_programs` what
# this tree's tests run (mycel_test and the group MYCEL_TESTS); `fuzzers` the fuzzers.
function(mycel_add_group_targets)
  get_property(programs GLOBAL PROPERTY MYCEL_PROGRAMS)
  # Under mpirun the programs load one of the first two; the others are installed beside them.
  foreach(loaded mycel_mpi_openmpi mycel_mpi_mpich mycel_nccl mycel_rccl)
    if(TARGET ${loaded})
      list(APPEND programs ${loaded})
    endif()
  endforeach()
  add_custom_target(programs DEPENDS ${programs})
  get_property(tests GLOBAL PROPERTY MYCEL_TESTS)
  add_custom_target(test_programs DEPENDS ${tests})
  get_property(fuzzers GLOBAL PROPERTY MYCEL_FUZZERS)
  add_custom_target(fuzzers DEPENDS ${fuzzers})
endfunction()
