/* 00: the smallest learner. Two headers beside this file and a C compiler, nothing else.
   The idea: an environment is two functions. Ten agents learn in it together, three of them are
   Byzantine, and it does not matter.
   Build: cc -O2 -I. examples/00_smallest.c -o 00_smallest && ./00_smallest */
#define RESNHARPG_IMPLEMENTATION /* in exactly one file of your program */
#include "resnharpg.h"
#include <stdio.h>

/* somebody stands at x, sees x, and is to find the middle: one step left (0) or right (1) */
static void reset(void *self, const agg_rng *rng, rn_real *obs) {
    double *x = (double *)self;
    *x = 2 * rn_draw_uniform(rng) - 1; /* -1 .. 1 */
    obs[0] = (rn_real)*x;
}

static rn_step_result step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                           double *reward) {
    double *x = (double *)self;
    (void)rng;
    *x += act[0] > 0 ? 0.1 : -0.1;
    obs[0] = (rn_real)*x;
    *reward = -*x * *x; /* 0 in the middle, less everywhere else */
    return RN_RUNNING;  /* until method.horizon */
}

int main(void) {
    double place[11], before = 0, after = 0; /* ten agents train, the eleventh evaluates */
    static rn_env envs[11];                  /* static: all of it is 0 */
    rn_net net;
    rn_trainer *trainer = NULL;
    char why[1024];
    for (int i = 0; i < 11; i++) {
        envs[i].self = &place[i];
        envs[i].reset = reset;
        envs[i].step = step;
        envs[i].obs_dim = envs[i].act_dim = 1; /* one number seen, one number chosen: */
        envs[i].actions = 2;                   /* 0 or 1 */
    }
    rn_net_desc shape = rn_make_net_desc(1, 2); /* 1 number in, 2 actions out, */
    shape.hidden[0] = 8;                        /* and 8 tanh units between them */
    rn_policy policy = rn_make_net_policy(&net, &shape);
    rn_trainer_desc desc = rn_make_trainer_desc(10, 3, envs, policy); /* survive 3 of 10, by CWTM */
    desc.method.horizon = 20;                                         /* steps of a trajectory */
    desc.adversaries = 3; /* and three are: they send -2.5 times their vector */
    if (rn_trainer_create(&trainer, &desc) != RN_OK) {
        rn_trainer_explain(&desc, why, sizeof why); /* which field, and why */
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    rn_trainer_evaluate(trainer, &envs[10], 100, &before);
    for (int round = 0; round < 100; round++) rn_trainer_run_round(trainer);
    rn_trainer_evaluate(trainer, &envs[10], 100, &after);
    printf("return %.0f before, %.0f after: ", before, after);
    printf("%s\n", after > -2 ? "learned" : "no"); // prints: return -55 before, -1 after: learned
    rn_trainer_destroy(trainer);
    return 0;
}
