// main of every *_perf program; the build chooses the collective (bench/perf/CMakeLists.txt).
#include "bench/perf/collectives.h"
#include "bench/perf/perf.h"

int main(int argc, char** argv) { return mycel::perf::PerfMain(mycel::perf::MYCEL_PERF_COLLECTIVE(), argc, argv); }
