/* 11: training inside a game. The game owns the memory (an arena) and the clock (sixty frames a
   second; threads: lesson 12); learning gets 3 ms of each frame and must never hold one up.
   Between rounds of training the policy is examined, in ticks too, while training goes on.
   The idea: rn_trainer_tick() and rn_evaluator_tick() stop where their budget ends, and the result
   has the same bits as an undisturbed run. A budget counts environment steps; how many fit into
   3 ms the game finds out as it goes. A game has no last round: gamma falls to a floor, not to 0.
   Build: cc -O2 -I. examples/11_game_loop.c -o 11_game_loop && ./11_game_loop */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "envs/cartpole.h"
#include "explain.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { AGENTS = 10, F = 3, ROUNDS = 100, EXAM = 20, HEAP = 8 << 20 };

static const double allowed = 3; /* milliseconds of a frame */

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

static double milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static rn_policy policy_of(rn_net *net) {
    rn_net_desc shape = rn_make_net_desc(4, 2);
    shape.hidden[0] = shape.hidden[1] = 16;
    return rn_make_net_policy(net, &shape);
}

static rn_trainer_desc describe(cartpole *poles, rn_env *envs, rn_net *net) {
    for (int i = 0; i < AGENTS; i++) envs[i] = cartpole_env(&poles[i]);
    rn_trainer_desc d = rn_make_trainer_desc(AGENTS, F, envs, policy_of(net));
    d.server.gamma = rn_schedule_linear(0.08, 0.004, ROUNDS); /* it never stops learning */
    d.adversaries = F;
    return d;
}

static rn_trainer *start(arena *memory) {
    rn_trainer *trainer = NULL;
    /* what the trainer points to must stay; what it copies (envs) need not */
    rn_net *net = (rn_net *)arena_take(memory, sizeof *net);
    cartpole *poles = (cartpole *)arena_take(memory, AGENTS * sizeof *poles);
    rn_env envs[AGENTS];
    rn_trainer_desc d = describe(poles, envs, net);
    const size_t size = rn_trainer_size(&d);
    const rn_status s = rn_trainer_init(&trainer, &d, arena_take(memory, size), size);
    if (explain_trainer(s, &d) != RN_OK) exit(1);
    return trainer;
}

/* ---- what a frame's learning is: exam and training, and how many steps a millisecond has */
typedef struct brain {
    rn_trainer *trainer;
    rn_evaluator *exam; /* NULL: none is under way */
    rn_env env;         /* of the exam: not one that trains */
    rn_policy policy;
    void *memory;
    size_t memory_size;
    double steps_per_ms, score;
    size_t exams;
} brain;

static void begin_exam(brain *b) {
    rn_evaluation_desc d = {EXAM, 500, 0, 1, 0};
    d.stream = (uint32_t)b->exams++;
    if (rn_evaluator_init(&b->exam, &d, &b->env, &b->policy, rn_trainer_theta(b->trainer),
                          b->memory, b->memory_size) != RN_OK)
        b->exam = NULL;
}

/* A millisecond at most for the exam, the rest for training. Many short ticks, so that the clock is
   looked at often; the speed is a running mean. */
static void learn(brain *b, double until) {
    rn_evaluation got;
    size_t used;
    for (double now = milliseconds(); now < until && rn_trainer_rounds_done(b->trainer) < ROUNDS;) {
        const double slice = until - now < 0.5 ? until - now : 0.5;
        const size_t budget = (size_t)(slice * b->steps_per_ms) + 1;
        if (b->exam) {
            const rn_status s = rn_evaluator_tick(b->exam, budget / 4 + 1, NULL, &got);
            if (s == RN_OK) b->score = got.mean;
            if (s != RN_MORE) b->exam = NULL;
        }
        const rn_status s = rn_trainer_tick(b->trainer, budget, &used);
        if (s == RN_OK && rn_trainer_rounds_done(b->trainer) % 25 == 0 && !b->exam) begin_exam(b);
        const double took = milliseconds() - now;
        if (took > 0) b->steps_per_ms += 0.1 * ((double)used / took - b->steps_per_ms);
        now += took;
    }
}

int main(void) {
    static cartpole pole;
    arena memory = {(unsigned char *)malloc(HEAP), HEAP, 0};
    double worst = 0, total = 0;
    int frames = 0, late = 0;
    if (!memory.base) return 1;
    brain b;
    memset(&b, 0, sizeof b);
    b.trainer = start(&memory);
    b.env = cartpole_env(&pole);
    b.steps_per_ms = 100;
    b.policy = policy_of((rn_net *)arena_take(&memory, sizeof(rn_net)));
    b.memory_size = rn_evaluator_size(&b.env, &b.policy);
    b.memory = arena_take(&memory, b.memory_size);
    printf("%d agents, %d adversaries; %g ms of each frame; %d kB of the game's memory\n\n", AGENTS,
           F, allowed, (int)(memory.used / 1024));
    for (; rn_trainer_rounds_done(b.trainer) < ROUNDS; frames++) {
        const double begin = milliseconds(); /* the game draws and moves, then: */
        learn(&b, begin + allowed);
        const double took = milliseconds() - begin; /* a game would wait for the screen here */
        total += took;
        late += took > 16.7;
        worst = took > worst ? took : worst;
        if (frames % 60 == 59)
            printf("%5.1f s of play: round %3d, last exam %5.1f, frame %.2f ms on average, %.2f "
                   "at worst\n",
                   (frames + 1) / 60.0, (int)rn_trainer_rounds_done(b.trainer), b.score,
                   total / (frames + 1), worst);
    }
    rn_trainer *calm = start(&memory);
    for (int round = 0; round < ROUNDS; round++)
        if (rn_trainer_run_round(calm) != RN_OK) return 1;
    const int same = memcmp(rn_trainer_theta(b.trainer), rn_trainer_theta(calm),
                            b.policy.dim * sizeof(rn_real)) == 0;
    printf(
        "\nVerdict: %d rounds in %d frames, %d of them later than 16.7 ms; against a run that was "
        "never interrupted: %s\n",
        ROUNDS, frames, late, same ? "the same bits" : "OTHER BITS");
    free(memory.base);
    return !same;
}
