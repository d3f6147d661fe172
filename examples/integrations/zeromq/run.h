/* run.h - what all programs of a federation must agree on: the task, the recipe, the seed. Each
   takes its half: the server a hub, an agent a peer, a replay all of it.

       run r = {"CartPole", "CWTM", "spring", 10, 3, 0, 1, 2000, 0, 0}; // zero the rest
       run_open(&r);                                      // ends the program if it cannot
       rn_hub *hub = run_hub(&r);                         // the server's side
       rn_peer_desc a = run_peer_desc(&r, &place, 4);     // the fifth agent

   CartPole has the recipe of rn_make_trainer_desc(), a net of 16-16: 386 numbers a row, learned
   within 150 rounds. The others have rn_make_tuned_trainer_desc(), nets of 32-32 and observations
   in units that every agent measures by itself: same numbers everywhere. */
#ifndef RUN_H
#define RUN_H
#include "../../../resnharpg.h"
#include "../../envs/cartpole.h"
#include "../../envs/half_cheetah.h"
#include "../../envs/hopper.h"
#include "../../envs/inverted_double_pendulum.h"
#include "../../envs/inverted_pendulum.h"
#include "../../envs/scaled.h"
#include "../../envs/walker2d.h"
#include "files.h"

typedef union run_body {
    cartpole pole;
    planar_body planar;
} run_body;

typedef struct run_place { /* an agent's world */
    run_body body;
    scaled units;
} run_place;

typedef struct run_task {
    const char *name;
    rn_env (*env)(run_body *b);
    int tuned; /* 1: scaled observations and the tuned recipe */
    size_t hidden, rounds;
    double good; /* a return that counts as learned */
} run_task;

NET_FN rn_env run_cartpole(run_body *b) { return cartpole_env(&b->pole); }
NET_FN rn_env run_pendulum(run_body *b) { return inverted_pendulum_env(&b->planar); }
NET_FN rn_env run_double(run_body *b) { return inverted_double_pendulum_env(&b->planar); }
NET_FN rn_env run_hopper(run_body *b) { return hopper_env(&b->planar); }
NET_FN rn_env run_cheetah(run_body *b) { return half_cheetah_env(&b->planar); }
NET_FN rn_env run_walker(run_body *b) { return walker2d_env(&b->planar); }

enum { RUN_TASKS = 6 };

/* clang-format off */
static const run_task run_tasks[RUN_TASKS] = {
    {"CartPole",               run_cartpole, 0, 16, 200,  475},
    {"InvertedPendulum",       run_pendulum, 1, 32, 900,  950},
    {"InvertedDoublePendulum", run_double,   1, 32, 3000, 9000},
    {"Hopper",                 run_hopper,   1, 32, 900,  400},
    {"HalfCheetah",            run_cheetah,  1, 32, 900,  800},
    {"Walker2d",               run_walker,   1, 32, 900,  400}};
/* clang-format on */

typedef struct run {
    char task_name[32], rule[32], name[64];
    size_t agents, f, rounds; /* rounds: 0 = the task's */
    uint64_t seed;
    size_t patience, quorum, stale, fresh; /* of the server; milliseconds, rows, rounds, rows */
    const run_task *task;                  /* from here on: run_open() */
    run_place first;                       /* has the units; evaluations are made in it */
    rn_env env;
    rn_net net;
    rn_trainer_desc recipe;
} run;

NET_FN void run_refuse(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* a file that only one program may write to */
NET_FN void run_hold(const char *path) {
    if (file_hold(path) == 0) return;
    run_refuse(path, errno == EBUSY ? "another program writes to it" : strerror(errno));
}

/* ---- as text, for a journal */
NET_FN void run_write(const run *r, char *text, size_t size) {
    snprintf(text, size,
             "task %s rule %s run %s agents %d f %d rounds %d seed %llu patience %d quorum %d "
             "stale %d fresh %d",
             r->task_name, r->rule, r->name, (int)r->agents, (int)r->f, (int)r->rounds,
             (unsigned long long)r->seed, (int)r->patience, (int)r->quorum, (int)r->stale,
             (int)r->fresh);
}

/* 1: it was all there */
NET_FN int run_read(run *r, const char *text) {
    unsigned n[7];
    unsigned long long seed;
    memset(r, 0, sizeof *r);
    if (sscanf(text,
               "task %31s rule %31s run %63s agents %u f %u rounds %u seed %llu patience %u "
               "quorum %u stale %u fresh %u",
               r->task_name, r->rule, r->name, &n[0], &n[1], &n[2], &seed, &n[3], &n[4], &n[5],
               &n[6]) != 11)
        return 0;
    r->agents = n[0];
    r->f = n[1];
    r->rounds = n[2];
    r->seed = seed;
    r->patience = n[3];
    r->quorum = n[4];
    r->stale = n[5];
    r->fresh = n[6];
    return 1;
}

/* ---- from the text to descs */
NET_FN const run_task *run_find_task(const char *name) {
    for (int t = 0; t < RUN_TASKS; t++)
        if (strcmp(run_tasks[t].name, name) == 0) return &run_tasks[t];
    run_refuse(name, "no such task; there are CartPole, InvertedPendulum, InvertedDoublePendulum, "
                     "Hopper, HalfCheetah, Walker2d");
    return NULL;
}

NET_FN agg_rule run_find_rule(const char *name) {
    for (int k = 0; k < AGG_RULE_COUNT; k++)
        if (strcmp(agg_rule_name((agg_rule)k), name) == 0) return (agg_rule)k;
    run_refuse(name, "no such rule; MDA, CWTM, CWMed, Krum, GM, CAF are some");
    return AGG_MDA;
}

/* the environment of one agent; `r` has measured the units */
NET_FN rn_env run_env(const run *r, run_place *p) {
    const rn_env inner = r->task->env(&p->body);
    scaled measured = r->first.units;
    if (!r->task->tuned) return inner;
    const rn_env e = scaled_env(&p->units, inner);
    scaled_copy(&p->units, &measured);
    return e;
}

NET_FN void run_measure(run *r) {
    run_place probe;
    memset(&probe, 0, sizeof probe);
    if (!r->task->tuned) return;
    (void)scaled_env(&probe.units, r->task->env(&probe.body));
    scaled_measure(&probe.units, 100, 250, 0.6);
    scaled_copy(&r->first.units, &probe.units);
}

NET_FN rn_net_desc run_shape(const run *r) {
    const rn_env *e = &r->env;
    rn_net_desc d = rn_make_net_desc(e->obs_dim, e->actions ? e->actions : e->act_dim);
    d.hidden[0] = d.hidden[1] = r->task->hidden;
    if (e->actions) return d;
    d.gaussian = 1;
    d.log_std = -0.5;
    d.log_std_min = -2;
    d.log_std_max = 2;
    return d;
}

/* what is given is checked; r must stay where it is */
NET_FN void run_open(run *r) {
    r->task = run_find_task(r->task_name);
    if (!r->rounds) r->rounds = r->task->rounds;
    run_measure(r);
    r->env = run_env(r, &r->first);
    const rn_net_desc shape = run_shape(r);
    const rn_policy p = rn_make_net_policy(&r->net, &shape);
    r->recipe = r->task->tuned ? rn_make_tuned_trainer_desc(r->agents, r->f, &r->env, p, r->rounds)
                               : rn_make_trainer_desc(r->agents, r->f, &r->env, p);
    r->recipe.server.agg.rule = run_find_rule(r->rule);
    if (r->recipe.server.agg.rule == AGG_MEAN) r->recipe.server.agg.pre[0] = AGG_PRE_NONE;
    r->recipe.seed = r->seed;
}

NET_FN uint64_t run_hash_text(uint64_t h, const char *text) {
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return (h ^ ' ') * 0x100000001b3u;
}

/* 128 bits that tell one run from another: FNV-1a of task and name, twice. The task too: bodies
   with as many joints have the same policy and method, and only their rows would be others. */
NET_FN void run_id(const run *r, unsigned char id[16]) {
    for (unsigned half = 0; half < 2; half++) {
        uint64_t h = 0xcbf29ce484222325u ^ half;
        h = run_hash_text(run_hash_text(h, r->task->name), r->name);
        for (unsigned b = 0; b < 8; b++) id[8 * half + b] = (unsigned char)(h >> (8 * b));
    }
}

NET_FN rn_hub_desc run_hub_desc(const run *r) {
    rn_hub_desc d = rn_make_hub_desc(&r->recipe);
    run_id(r, d.run);
    d.patience = r->patience;
    d.quorum = r->quorum;
    d.stale = r->stale;
    d.fresh = r->fresh;
    d.resend = 200;
    return d;
}

/* the memory is never given back: there is one of them in a process, or a few */
NET_FN rn_hub *run_hub(const run *r) {
    const rn_hub_desc d = run_hub_desc(r);
    const size_t size = rn_hub_size(&d);
    void *memory = malloc(size + 1);
    rn_hub *hub = NULL;
    const rn_status s = memory ? rn_hub_init(&hub, &d, memory, size) : RN_ERR_MEMORY;
    char why[512];
    if (s == RN_OK) return hub;
    if (rn_hub_explain(&d, why, sizeof why) == RN_OK)
        snprintf(why, sizeof why, "%s", rn_status_text(s));
    run_refuse("the server", why);
    return hub;
}

/* ms of silence after which an agent asks for the plan, the whole of it */
NET_FN uint64_t run_retry(const run *r) { return 1000 + r->recipe.policy.dim / 100; }

NET_FN rn_peer_desc run_peer_desc(const run *r, run_place *place, size_t index) {
    rn_peer_desc d = rn_make_peer_desc(&r->recipe, index, run_env(r, place));
    run_id(r, d.run);
    d.retry = run_retry(r);
    return d;
}

/* mean return of the most likely actions; training does not notice */
NET_FN double run_evaluate(run *r, const rn_real *theta, size_t trajectories) {
    rn_evaluation_desc d = {trajectories, 0, 0, 0, 0};
    rn_evaluation e = {0, 0, 0, 0};
    const size_t size = rn_evaluate_scratch_size(&r->env, &r->recipe.policy);
    void *scratch = malloc(size);
    d.seed = r->seed;
    if (!scratch || rn_evaluate(&d, &r->env, &r->recipe.policy, theta, scratch, size, &e) != RN_OK)
        run_refuse("evaluation", "refused");
    free(scratch);
    return e.mean;
}

/* FNV-1a over the bits of theta, 64 at a time or fewer */
NET_FN uint64_t run_hash(const rn_real *theta, size_t dim) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t k = 0; k < dim; k++) {
        uint64_t bits = 0;
        memcpy(&bits, &theta[k], sizeof theta[k]);
        h = (h ^ bits) * 0x100000001b3u;
        h ^= h >> 29;
    }
    return h;
}
#endif /* RUN_H */
