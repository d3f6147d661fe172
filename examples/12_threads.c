/* 12: the agents of a trainer share nothing, so they can run on as many threads as there are. You
   bring the threads: any job system with "run these n jobs and return" will do, and pool.h beside
   this file is one in sixty lines.
   The idea: threads change the time, never a bit of the result.
   Build: cc -O2 -I. examples/12_threads.c -o 12_threads -pthread && ./12_threads */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "envs/cartpole.h"
#include "explain.h"
#include "pool.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { AGENTS = 12, F = 3, ROUNDS = 100 };

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static rn_trainer *train(agg_jobs jobs, double *took) {
    static cartpole poles[AGENTS]; /* one for each agent: two threads never touch the same */
    static rn_net net;             /* the policy is shared, and only read */
    rn_trainer *trainer = NULL;
    rn_env envs[AGENTS];
    rn_net_desc shape = rn_make_net_desc(4, 2);
    shape.hidden[0] = shape.hidden[1] = 32;
    for (int i = 0; i < AGENTS; i++) envs[i] = cartpole_env(&poles[i]);
    rn_trainer_desc d = rn_make_trainer_desc(AGENTS, F, envs, rn_make_net_policy(&net, &shape));
    d.adversaries = F;
    d.jobs = jobs;            /* agents: one job each, in every round */
    d.server.agg.jobs = jobs; /* the rule can use them too; worth it for very long rows only */
    rn_status s = explain_trainer(rn_trainer_create(&trainer, &d), &d);
    const double begin = seconds();
    for (int round = 0; s == RN_OK && round < ROUNDS; round++) s = rn_trainer_run_round(trainer);
    *took = seconds() - begin;
    if (s != RN_OK) exit((fprintf(stderr, "%s\n", rn_status_text(s)), 1));
    return trainer;
}

int main(void) {
    static const int counts[] = {1, 2, 4};
    const agg_jobs nobody = {NULL, NULL};
    double alone, took;
    int same = 1;
    rn_trainer *first = train(nobody, &alone);
    const size_t bytes = rn_trainer_progress(first)->dim * sizeof(rn_real);
    printf("%d agents, %d rounds, %d parameters\n\n  no job system  %6.3f s\n", AGENTS, ROUNDS,
           (int)rn_trainer_progress(first)->dim, alone);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        pool p;
        agg_jobs jobs = {pool_run, &p};
        pool_start(&p, counts[i]);
        rn_trainer *t = train(jobs, &took);
        const int equal = memcmp(rn_trainer_theta(t), rn_trainer_theta(first), bytes) == 0;
        printf("  %d thread%s      %6.3f s, %.2f x as fast, %s\n", counts[i],
               counts[i] == 1 ? " " : "s", took, alone / took,
               equal ? "the same bits" : "OTHER BITS");
        same = same && equal;
        rn_trainer_destroy(t);
        pool_stop(&p);
    }
    printf("\nVerdict: threads change the time and %s. More of them than cores gain nothing, and a "
           "round waits for its longest trajectory\n",
           same ? "not a bit" : "THE BITS, which they must not");
    rn_trainer_destroy(first);
    return !same;
}
