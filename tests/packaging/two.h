/* A program of two files: both include the headers, two_learner.c implements them. */
#ifndef TWO_H
#define TWO_H
#include <resnharpg.h>

typedef struct coin {
    size_t flips;
} coin; /* an environment: heads (1) pays, 5 times */

rn_env coin_env(coin *c);
rn_trainer *make_learner(coin *coins, size_t n, rn_table *table, rn_status *status);
#endif
