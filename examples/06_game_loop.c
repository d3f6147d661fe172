/* 06: training inside a game. The game owns the memory (an arena), the threads (its job system) and
   the clock (sixty frames a second); learning gets a budget of environment steps in each frame and
   must never hold a frame up.
   The idea: rn_trainer_tick() stops wherever the budget ends, and the result has the same bits as
   an undisturbed run.
   Build: cc -O2 -I. examples/06_game_loop.c -o 06_game_loop -pthread && ./06_game_loop */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "envs/cartpole.h"
#include "pool.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { AGENTS = 10, F = 3, ROUNDS = 100, BUDGET = 2000, HEAP = 8 << 20 };

/* ---- the game's memory: one block from the start of the program, handed out from front to back */
typedef struct arena {
    unsigned char *base;
    size_t size, used;
} arena;

static void *arena_take(arena *a, size_t bytes) {
    void *p = a->base + a->used;
    bytes = (bytes + 15) / 16 * 16; /* what comes next is aligned too */
    if (bytes > a->size - a->used) return NULL;
    a->used += bytes;
    return p;
}

/* ---- the game's own work in a frame, on the same job system as the training */
typedef struct world {
    float particle[4096];
} world;

static void move_particles(void *arg, size_t index) {
    world *w = (world *)arg;
    for (size_t i = 512 * index; i < 512 * (index + 1); i++)
        w->particle[i] = w->particle[i] * 0.999f + 0.01f;
}

static double milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static rn_trainer_desc describe(cartpole *poles, rn_env *envs, rn_net *net) {
    rn_net_desc shape = rn_make_net_desc(4, 2);
    shape.hidden[0] = shape.hidden[1] = 16;
    for (int i = 0; i < AGENTS; i++) envs[i] = cartpole_env(&poles[i]);
    rn_trainer_desc d = rn_make_trainer_desc(AGENTS, F, envs, rn_make_net_policy(net, &shape));
    d.server.gamma = rn_schedule_linear(0.08, 0, ROUNDS);
    d.adversaries = F;
    return d;
}

static rn_trainer *start(arena *memory, agg_jobs jobs) {
    rn_trainer *trainer = NULL;
    /* what the trainer points to must stay; what it copies (envs) need not */
    rn_net *net = (rn_net *)arena_take(memory, sizeof *net);
    cartpole *poles = (cartpole *)arena_take(memory, AGENTS * sizeof *poles);
    rn_env envs[AGENTS];
    rn_trainer_desc d = describe(poles, envs, net);
    const size_t size = rn_trainer_size(&d);
    d.jobs = jobs;
    rn_status s = rn_trainer_init(&trainer, &d, arena_take(memory, size), size);
    if (s != RN_OK) exit((fprintf(stderr, "%s\n", rn_status_text(s)), 1));
    return trainer;
}

/* ---- one frame: the game first, then as much learning as the budget allows, over the end of a
   round if need be */
static size_t frame(pool *jobs, world *w, rn_trainer *trainer) {
    size_t left = BUDGET, used;
    pool_run(jobs, 8, move_particles, w);
    while (left > 0 && rn_trainer_rounds_done(trainer) < ROUNDS) {
        if (rn_trainer_tick(trainer, left, &used) == RN_MORE) return BUDGET;
        left -= used;
    }
    return BUDGET - left;
}

int main(void) {
    static world w;
    const agg_jobs nobody = {NULL, NULL};
    agg_jobs threads = {pool_run, NULL};
    arena memory = {(unsigned char *)malloc(HEAP), HEAP, 0};
    pool jobs;
    double worst = 0, total = 0;
    size_t steps = 0;
    int frames = 0;
    if (!memory.base) return 1;
    pool_start(&jobs, 2);
    threads.self = &jobs;
    rn_trainer *trainer = start(&memory, threads);
    printf("%d agents, %d adversaries; %d environment steps in a frame of 16.7 ms; %d kB of the "
           "game's memory\n\n",
           AGENTS, F, BUDGET, (int)(memory.used / 1024));
    for (; rn_trainer_rounds_done(trainer) < ROUNDS; frames++) {
        const double begin = milliseconds();
        steps += frame(&jobs, &w, trainer);
        const double took = milliseconds() - begin;
        total += took;
        worst = took > worst ? took : worst;
        if (frames % 30 == 29) /* a game would wait for the screen here */
            printf("%5.1f s of play: round %3d, return %5.1f, frame %.2f ms on average, %.2f ms at "
                   "worst\n",
                   (frames + 1) / 60.0, (int)rn_trainer_rounds_done(trainer),
                   rn_trainer_progress(trainer)->mean_return, total / (frames + 1), worst);
    }
    pool_stop(&jobs);

    rn_trainer *calm = start(&memory, nobody);
    for (int round = 0; round < ROUNDS; round++)
        if (rn_trainer_run_round(calm) != RN_OK) return 1;
    const size_t dim = rn_trainer_progress(calm)->dim;
    const int same =
        memcmp(rn_trainer_theta(trainer), rn_trainer_theta(calm), dim * sizeof(rn_real)) == 0;
    printf("\n%d rounds and %d environment steps in %d frames; against one thread that was never "
           "interrupted: %s\n",
           ROUNDS, (int)steps, frames, same ? "the same bits" : "OTHER BITS");
    free(memory.base);
    return !same;
}
