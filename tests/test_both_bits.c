/* Same bits everywhere. Hashes that tests/golden.h stores are met by
     - every rule and pre-aggregation on fixed rows,
     - the states of every environment under fixed actions,
     - theta after each round of training: three environments, every rule, and by turns every other
       option there is.
   They must not change with the compiler, the language, the optimisation level, the instruction
   set, the byte order or the width of a pointer (`make portability` tries them), nor with the
   number of threads, the budget of a tick and the points where a run is saved and goes on in a new
   trainer (tried here).
   A change that is meant to change results changes the hashes too: `make golden` stores the new
   ones.
   All numbers come from the headers and the environments: libm has not the same bits everywhere. */
#include "implementation.h"
#include "resnharpg.h"
#include "examples/envs/cartpole.h"
#include "examples/envs/half_cheetah.h"
#include "examples/envs/hopper.h"
#include "examples/envs/inverted_double_pendulum.h"
#include "examples/envs/inverted_pendulum.h"
#include "examples/envs/walker2d.h"
#include "examples/pool.h"
#include "greatest.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    AGENTS = 11,
    ADVERSARIES = 2,
    ROUNDS = 6,
    STATES = 5,
    ACTIONS = 3
}; /* 11 >= 4*2 + 3: enough for Bulyan */

typedef struct golden {
    const char *what, *name;
    uint32_t hash[ROUNDS];
} golden;

/* clang-format off */
static const golden stored[] = {
#include "golden.h"
    { NULL, NULL, { 0 } }
};
/* clang-format on */
static int printing; /* what golden.h is to hold, instead of comparing with it */

/* FNV-1a over the bit patterns as numbers, lowest byte first; a hash in print is its two halves
   together */
static uint64_t hash_numbers(uint64_t h, const rn_real *x, size_t n) {
    for (size_t k = 0; k < n; k++) {
        uint64_t bits = 0;
        if (sizeof x[k] == 8)
            memcpy(&bits, &x[k], sizeof x[k]);
        else {
            uint32_t b;
            memcpy(&b, &x[k], sizeof b);
            bits = b;
        }
        for (int byte = 0; byte < (int)sizeof x[k]; byte++)
            h = (h ^ ((bits >> (8 * byte)) & 255)) * 0x100000001b3u;
    }
    return h;
}

static uint32_t fold(uint64_t h) { return (uint32_t)(h ^ (h >> 32)); }

static const uint64_t hash_start = 0xcbf29ce484222325u;

static int meets(const char *what, const char *name, const uint32_t *hash) {
    if (printing) {
        printf("    { \"%s\", \"%s\", {", what, name);
        for (int i = 0; i < ROUNDS; i++)
            printf("%s 0x%08lxu", i ? "," : "", (unsigned long)hash[i]);
        printf(" } },\n");
        return 1;
    }
    for (const golden *g = stored; g->what; g++) {
        if (strcmp(g->what, what) || strcmp(g->name, name)) continue;
        for (int i = 0; i < ROUNDS; i++)
            if (g->hash[i] != hash[i]) {
                printf("\n%s, %s: hash %d is %08lx, stored is %08lx\n", what, name, i + 1,
                       (unsigned long)hash[i], (unsigned long)g->hash[i]);
                return 0;
            }
        return 1;
    }
    printf("\n%s, %s is not in golden.h\n", what, name);
    return 0;
}

static void *need(size_t bytes) {
    void *p = malloc(bytes);
    if (!p) exit(2);
    return p;
}

/* ---- every rule behind every pre-aggregation, on rows of a few lengths; the hashes are of the
   lengths. Pre-aggregations that came later have lines of their own, so that old lines stay. */
enum { LONGEST = 5000, FIRST_PRES = AGG_PRE_CLIP_MEDIAN };

static int rows_meet(const char *what, const char *name, agg_rule rule, int pre, int past_pre) {
    static const size_t dims[ROUNDS] = {1, 2, 37, 300, 2048, LONGEST};
    const int first_pre = pre;
    rn_random random = rn_make_random(2024, (uint32_t)rule);
    const agg_rng rng = rn_random_rng(&random);
    rn_real *data = (rn_real *)need(AGENTS * LONGEST * sizeof *data),
            *out = (rn_real *)need(LONGEST * sizeof *out);
    const rn_real *row[AGENTS];
    uint32_t hash[ROUNDS];
    uint64_t h = hash_start;
    for (size_t c = 0; c < ROUNDS; c++) {
        for (pre = first_pre; pre < past_pre; pre++) {
            agg_desc d = agg_make_desc(rule, AGENTS, dims[c], ADVERSARIES);
            void *scratch;
            d.pre[1] = (agg_pre)pre;
            d.clip = 2;
            d.bucket = rule == AGG_BULYAN ? 1 : 2;
            d.rng = rng;
            for (size_t i = 0; i < AGENTS; i++) {
                row[i] = data + i * dims[c];
                for (size_t k = 0; k < dims[c]; k++)
                    data[i * dims[c] + k] =
                        (rn_real)(rn_draw_normal(&rng) + (i < ADVERSARIES ? 3 : 0));
            }
            scratch = need(agg_scratch_size(&d));
            if (agg_aggregate(&d, row, out, scratch, agg_scratch_size(&d), NULL) > AGG_INEXACT)
                return 0;
            h = hash_numbers(h, out, dims[c]);
            free(scratch);
        }
        hash[c] = fold(h);
    }
    free(data);
    free(out);
    return meets(what, name, hash);
}

TEST rows(agg_rule rule) {
    ASSERT(rows_meet("rows", agg_rule_name(rule), rule, 0, FIRST_PRES));
    PASS();
}

TEST later_pre(int pre) {
    ASSERT(rows_meet("pre", agg_pre_name((agg_pre)pre), AGG_MEAN, pre, pre + 1));
    PASS();
}

/* ---- every environment of examples/envs: fixed actions, 100 steps for each hash. What is saved
   is the same in both precisions. */
enum { BODIES = 6 };

TEST moves(int body) {
    static const char *const name[BODIES] = {
        "CartPole", "InvertedPendulum", "InvertedDoublePendulum",
        "Hopper",   "Walker2d",         "HalfCheetah"};

    union {
        cartpole c;
        inverted_pendulum i;
        inverted_double_pendulum d;
        hopper h;
        walker2d w;
        half_cheetah a;
    } self;

    const rn_env e = body == 0   ? cartpole_env(&self.c)
                     : body == 1 ? inverted_pendulum_env(&self.i)
                     : body == 2 ? inverted_double_pendulum_env(&self.d)
                     : body == 3 ? hopper_env(&self.h)
                     : body == 4 ? walker2d_env(&self.w)
                                 : half_cheetah_env(&self.a);
    rn_random random = rn_make_random(2025, (uint32_t)body);
    const agg_rng rng = rn_random_rng(&random);
    unsigned char bytes[512];
    rn_real obs[32], act[8];
    uint32_t hash[ROUNDS];
    uint64_t h = hash_start;
    double reward;
    rn_step_result r = RN_TERMINATED;
    ASSERT(e.state_size <= sizeof bytes && e.obs_dim <= 32 && e.act_dim <= 8);
    for (int t = 0; t < 100 * ROUNDS; t++) {
        if (r != RN_RUNNING) e.reset(e.self, &rng, obs);
        for (int k = 0; k < (int)e.act_dim; k++) {
            /* exact in both precisions */
            const int push = (t / 5 + k) * (t / 5 + 3 * k) / 7 % 13 - 6;
            act[k] = e.actions ? (rn_real)(t / 5 % 2) : (rn_real)(push * 0.1875);
        }
        r = e.step(e.self, act, &rng, obs, &reward);
        e.save(e.self, bytes);
        for (size_t k = 0; k < e.state_size; k++) h = (h ^ bytes[k]) * 0x100000001b3u;
        hash[t / 100] = fold(h);
    }
    ASSERT(meets("moves", name[body], hash));
    PASS();
}

/* ---- the third environment: a chain of states, steps that slip; it can be saved */
typedef struct chain {
    unsigned state;
} chain;

static void chain_reset(void *self, const agg_rng *rng, rn_real *obs) {
    chain *c = (chain *)self;
    c->state = (unsigned)rn_draw_below(rng, STATES - 1);
    obs[0] = (rn_real)c->state;
}

static rn_step_result chain_step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                                 double *reward) {
    chain *c = (chain *)self;
    const int move = (int)act[0] - 1 + (rn_draw_uniform(rng) < 0.25 ? 1 : 0),
              to = (int)c->state + move;
    c->state = to < 0 ? 0 : to >= STATES ? STATES - 1 : (unsigned)to;
    obs[0] = (rn_real)c->state;
    *reward = c->state == STATES - 1 ? 1 : -0.01 * (double)c->state;
    return c->state == STATES - 1 ? RN_TERMINATED : RN_RUNNING;
}

static void chain_save(const void *self, void *bytes) {
    *(unsigned char *)bytes = (unsigned char)((const chain *)self)->state;
}

static int chain_load(void *self, const void *bytes) {
    const unsigned state = *(const unsigned char *)bytes;
    if (state < STATES) ((chain *)self)->state = state;
    return state < STATES;
}

static rn_env chain_env(chain *c) {
    rn_env e;
    memset(&e, 0, sizeof e);
    e.self = c;
    e.reset = chain_reset;
    e.step = chain_step;
    e.obs_dim = e.act_dim = 1;
    e.actions = ACTIONS;
    e.state_size = 1;
    e.save = chain_save;
    e.load = chain_load;
    return e;
}

/* ---- a federation on one of the environments. The rule's number picks the options, so that
   each is used by some */
/* TUNED: CartPole with method.tuned, flat, server.kl and soft */
typedef enum env_kind { CARTPOLE, PENDULUM, TABLE, TUNED, ENV_KINDS } env_kind;

static const char *const env_name[ENV_KINDS] = {"CartPole", "InvertedPendulum", "table", "tuned"};

typedef struct federation {
    cartpole poles[AGENTS];
    inverted_pendulum pendulums[AGENTS];
    chain chains[AGENTS];
    rn_env envs[AGENTS];
    rn_net net;
    rn_table table;
    rn_trainer_desc desc;
    rn_trainer *trainer;
} federation;

static rn_policy make_policy(federation *f, env_kind what, unsigned pick) {
    rn_net_desc shape = rn_make_net_desc(4, what == CARTPOLE || what == TUNED ? 2 : 1);
    shape.hidden[0] = 16 + pick;
    shape.hidden[1] = pick % 3 ? 16 : 0;
    shape.activation = (rn_activation)(pick % 3);
    shape.tanh_head = pick % 4 == 1;
    shape.no_bias = pick % 5 == 2;
    shape.gaussian = what == PENDULUM;
    shape.state_std = pick % 2;
    shape.log_std = -0.5;
    shape.log_std_min = pick % 4 == 3 ? -0.6 : 0;
    shape.log_std_max = pick % 4 == 3 ? -0.4 : 0;
    shape.clip = pick % 3 == 1 ? 3 : 0;
    shape.out_scale = 1;
    return what == TABLE ? rn_make_table_policy(&f->table, STATES, ACTIONS)
                         : rn_make_net_policy(&f->net, &shape);
}

static int make_federation(federation *f, env_kind what, agg_rule rule, const agg_jobs *jobs) {
    const unsigned pick = (unsigned)rule + 5u * (unsigned)what;
    rn_trainer_desc d;
    memset(f, 0, sizeof *f);
    for (int i = 0; i < AGENTS; i++)
        f->envs[i] = what == CARTPOLE || what == TUNED ? cartpole_env(&f->poles[i])
                     : what == PENDULUM                ? inverted_pendulum_env(&f->pendulums[i])
                                                       : chain_env(&f->chains[i]);
    d = rn_make_trainer_desc(AGENTS, ADVERSARIES, f->envs, make_policy(f, what, pick));
    d.method.horizon = 80;
    d.method.discount = 0.995; /* the recipe may change, the hashes need not */
    d.method.flat = d.method.reuse = d.server.soft = 0;
    d.server.agg.pre[0] = AGG_PRE_NONE;
    d.method.batch = 1 + pick % 2;
    d.method.estimator = (rn_estimator)(pick % 7 == 6);
    d.method.baseline = (rn_baseline)(pick % 3);
    d.method.causal = pick % 4 != 0;
    d.method.whiten = pick % 5 == 4;
    d.method.clip = pick % 3 == 2 ? 0.5 : 0;
    d.server.agg.rule = rule;
    d.server.agg.pre[1] = (agg_pre)(pick % FIRST_PRES);
    d.server.agg.clip = 1;
    d.server.agg.bucket = rule == AGG_BULYAN ? 1 : 2;
    d.server.update = (rn_update_kind)(pick % 4);
    d.server.gamma =
        rn_schedule_staircase(d.server.update == RN_UPDATE_PLAIN ? 0.0005 : 0.1, 0.5, 4);
    d.server.eta = pick % 6 == 5 ? rn_theory_eta() : rn_schedule_constant(0.5);
    d.server.radius = pick % 4 == 2 ? 4 : 0;
    if (what == TUNED) {
        d.method.tuned = d.method.flat = d.method.causal = d.server.soft = 1;
        d.method.estimator = RN_GPOMDP;
        d.server.update = RN_UPDATE_NORMALISED;
        d.server.kl = 0.002;
    }
    d.seed = 40 + (uint64_t)what;
    d.adversaries = ADVERSARIES;
    d.attack.kind = pick % 6 == 3   ? RN_ATTACK_RANDOM_ACTION
                    : pick % 6 == 4 ? RN_ATTACK_REWARD_FLIP
                    : pick % 6 == 5 ? RN_ATTACK_SILENCE
                                    : RN_ATTACK_VECTOR;
    d.attack.vector.kind = (agg_attack_kind)(pick % (AGG_ATTACK_NAN + 1));
    if (jobs) d.jobs = d.server.agg.jobs = *jobs;
    f->desc = d;
    return rn_trainer_create(&f->trainer, &f->desc) == RN_OK;
}

/* goes on in a new trainer with new environments; what the old one knew is wiped */
static int move_house(federation *f, env_kind what, agg_rule rule) {
    const size_t size = rn_trainer_save_size(f->trainer);
    void *bytes = need(size);
    int good = rn_trainer_save(f->trainer, bytes, size) == RN_OK;
    rn_trainer_destroy(f->trainer);
    good = good && make_federation(f, what, rule, NULL) &&
           rn_trainer_load(f->trainer, bytes, size) == RN_OK;
    free(bytes);
    return good;
}

/* budget: of a tick, in environment steps; resume: move house after every so many ticks, 0 =
   never */
static int train(env_kind what, agg_rule rule, const agg_jobs *jobs, size_t budget,
                 unsigned resume) {
    federation *f = (federation *)need(sizeof *f);
    uint32_t hash[ROUNDS];
    uint64_t h = hash_start;
    unsigned ticks = 0;
    int good = make_federation(f, what, rule, jobs);
    for (int round = 0; good && round < ROUNDS; round++) {
        rn_status s = RN_MORE;
        while (good && s == RN_MORE) {
            s = rn_trainer_tick(f->trainer, budget, NULL);
            if (resume && ++ticks % resume == 0) good = move_house(f, what, rule);
        }
        good = good && s == RN_OK;
        if (good) h = hash_numbers(h, rn_trainer_theta(f->trainer), f->desc.policy.dim);
        hash[round] = fold(h);
    }
    if (good) good = meets(env_name[what], agg_rule_name(rule), hash);
    rn_trainer_destroy(f->trainer);
    free(f);
    return good;
}

static void run_backwards(void *self, size_t count, agg_job *job, void *arg) {
    (void)self;
    while (count-- > 0) job(arg, count);
}

/* Way k of so many to disturb a run. With TEST_WHOLE all of them are tried on all runs; else one
   on each, by turns. */
static int tried(env_kind what, agg_rule rule, size_t k, size_t ways) {
    const char *said = getenv("TEST_WHOLE");
    return (said && *said) || ((size_t)what + (size_t)rule + k) % ways == 0;
}

TEST whole_rounds(env_kind what, agg_rule rule) {
    ASSERT(train(what, rule, NULL, (size_t)-1, 0));
    PASS();
}

TEST any_budget(env_kind what, agg_rule rule) {
    static const size_t budget[] = {1, 37, 1000};
    for (size_t i = 0; i < 3; i++)
        ASSERT(!tried(what, rule, i, 3) || train(what, rule, NULL, budget[i], 0));
    PASS();
}

TEST any_resume_point(env_kind what, agg_rule rule) {
    ASSERT(!tried(what, rule, 0, 2) || train(what, rule, NULL, (size_t)-1, 1)); /* between rounds */
    ASSERT(!tried(what, rule, 1, 2) || train(what, rule, NULL, 61, 7)); /* anywhere in them */
    PASS();
}

TEST any_number_of_threads(env_kind what, agg_rule rule) {
    static const int threads[] = {2, 3, 8};
    agg_jobs jobs = {run_backwards, NULL};
    ASSERT(!tried(what, rule, 3, 4) || train(what, rule, &jobs, (size_t)-1, 0));
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        pool p;
        int good;
        if (!tried(what, rule, i, 4)) continue;
        pool_start(&p, threads[i]);
        jobs.run = pool_run;
        jobs.self = &p;
        good = train(what, rule, &jobs, i ? 500 : (size_t)-1, 0);
        pool_stop(&p);
        ASSERT(good);
    }
    PASS();
}

/* every line of golden.h is met by some test above */
TEST nothing_is_left_over(void) {
    size_t n = 0;
    while (stored[n].what) n++;
    ASSERT_EQ(
        (size_t)AGG_RULE_COUNT * ((size_t)ENV_KINDS + 1) + BODIES + AGG_PRE_COUNT - FIRST_PRES, n);
    PASS();
}

SUITE(golden_hashes) {
    for (int rule = 0; rule < AGG_RULE_COUNT; rule++) RUN_TESTp(rows, (agg_rule)rule);
    for (int pre = FIRST_PRES; pre < AGG_PRE_COUNT; pre++) RUN_TESTp(later_pre, pre);
    for (int body = 0; body < BODIES; body++) RUN_TESTp(moves, body);
    for (int what = 0; what < ENV_KINDS; what++)
        for (int rule = 0; rule < AGG_RULE_COUNT; rule++)
            RUN_TESTp(whole_rounds, (env_kind)what, (agg_rule)rule);
    RUN_TEST(nothing_is_left_over);
}

SUITE(whatever_the_host_does) {
    for (int what = 0; what < ENV_KINDS; what++)
        for (int rule = 0; rule < AGG_RULE_COUNT; rule++) {
            RUN_TESTp(any_budget, (env_kind)what, (agg_rule)rule);
            RUN_TESTp(any_resume_point, (env_kind)what, (agg_rule)rule);
            RUN_TESTp(any_number_of_threads, (env_kind)what, (agg_rule)rule);
        }
}

GREATEST_MAIN_DEFS();

/* the lines of golden.h for this precision */
static int print_all(void) {
    int good = 1;
    printing = 1;
    for (int rule = 0; rule < AGG_RULE_COUNT; rule++)
        good = rows((agg_rule)rule) == GREATEST_TEST_RES_PASS && good;
    for (int pre = FIRST_PRES; pre < AGG_PRE_COUNT; pre++)
        good = later_pre(pre) == GREATEST_TEST_RES_PASS && good;
    for (int body = 0; body < BODIES; body++) good = moves(body) == GREATEST_TEST_RES_PASS && good;
    for (int what = 0; what < ENV_KINDS; what++)
        for (int rule = 0; rule < AGG_RULE_COUNT; rule++)
            good = train((env_kind)what, (agg_rule)rule, NULL, (size_t)-1, 0) && good;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "print") == 0) return print_all();
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(golden_hashes);
    RUN_SUITE(whatever_the_host_does);
    GREATEST_MAIN_END();
}
