/* The code of both headers, which `make test` compiles once for each precision and links to the
   test programs. */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
