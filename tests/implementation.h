/* Before the header under test: brings its code along, so that `cc -I. tests/test_agg_gm.c -lm` is
   a whole program. `make test` compiles the code once for all programs (library.c), says
   -DTEST_LINKED and links it. A test of private functions defines ..._IMPLEMENTATION itself. */
#ifndef TEST_LINKED
#define AGGREGATORS_IMPLEMENTATION
#define RESNHARPG_IMPLEMENTATION
#endif
