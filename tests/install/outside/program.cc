// The same program, as C++: mycel.h must be clean in both languages.
#include "program.c"
