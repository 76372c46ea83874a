# cmake -DLINT=mycel_lint -DTIDY=clang-tidy -DROOT=<repository> -DWORK=<scratch folder> -P check.cmake: of sources that
# are looked at together the bad one is named, a name declared twice costs nothing but time, and clean ones are known.
file(REMOVE_RECURSE ${WORK})
file(COPY ${ROOT}/.clang-tidy DESTINATION ${WORK})
file(READ ${ROOT}/tests/tidy/lint/planted.cc planted)
set(clash "int Twice(int a,\n          int b) { return a + b; }\n")
file(WRITE ${WORK}/core/base/good.cc
  "#include <string>\nnamespace {\n${clash}}\nsize_t Good() { return Twice(1, 2); }\n")
file(WRITE ${WORK}/core/base/same.cc "namespace {\nenum { Once };\n${clash}}\nint Same() { return Twice(1, Once); }\n")
file(WRITE ${WORK}/core/base/planted.cc "${planted}")
set(entries "")
foreach(name good same planted)
  set(source ${WORK}/core/base/${name}.cc)
  list(APPEND entries
    "{\"directory\": \"${WORK}\", \"file\": \"${source}\", \"command\": \"c++ -std=c++20 -o ${name}.o -c ${source}\"}")
endforeach()
list(JOIN entries ", " entries)
file(WRITE ${WORK}/compile_commands.json "[${entries}]")

set(ENV{XDG_CACHE_HOME} ${WORK}/cache)
foreach(known 0 2)  # the second run looks at the bad one alone
  execute_process(COMMAND ${LINT} ${TIDY} ${WORK} ${WORK} RESULT_VARIABLE status OUTPUT_VARIABLE output)
  message(STATUS "${output}")
  string(REGEX MATCHALL "use-after-move|explicit-constructor" reports "${output}")
  list(REMOVE_DUPLICATES reports)
  list(LENGTH reports kinds)
  math(EXPR open "3 - ${known}")
  if(status EQUAL 0 OR NOT kinds EQUAL 2 OR NOT output MATCHES "3 sources, ${known} known to be clean" OR
     NOT output MATCHES "core/base/planted.cc:[0-9]+" OR NOT output MATCHES "1 of ${open} sources have findings")
    message(SEND_ERROR "expected both defects of planted.cc, ${known} sources known to be clean, and one bad")
  endif()
endforeach()
