# Third-party packages. Required: Abseil, Highway, nlohmann-json, CLI11; GoogleTest for the tests.
# Optional ones set MYCEL_HAVE_X and are listed in the configure summary and by `mycel info`.
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
if(MYCEL_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
