/* The sections THREADS and SECURITY of both headers, sentence by sentence. What another program
   shows already:

   aggregators.h
     there are no variables              tests/strict/run.sh: "needs no library, has no variables"
     nothing is read or written beyond   test_agg_misuse: rows_at_the_edge_of_memory,
     the buffers                         scratch_at_every_address, scratch_one_byte_short;
                                         make asan, make valgrind
     no behaviour is undefined,          make asan over all tests;
     the call ends                       test_agg_rules, _spectrum, _gm at their budgets
     a status before anything            test_agg_misuse: bad_options, bounds, zero_and_huge_sizes
     is written
     bad rows are dropped,               test_agg_misuse: too_many_bad_rows,
     more than f: AGG_ERR_ROWS           every_rule_pre_aggregation_and_forgery
     late rows convict nobody            test_agg_guarantee: late_is_not_guilty,
                                         two_kinds_of_absence
     finite rows of any size             test_agg_rules: the layouts giants, denormal and mixed;
                                         test_agg_laws: scale
     the inequality holds                test_agg_guarantee: any_forgeries, hill_climbing
     jobs in any order, at once,         test_agg_laws: pools; test_both_bits: any_number_of_threads
     same bits
   resnharpg.h
     refused rounds leave theta          test_rn_misuse: silent_majorities_stop_the_step_not_the_run
     theta is finite                     test_rn_misuse: theta_never_overflows,
                                         hostile_rows_up_to_f_are_survived
     bad environments and policies       test_rn_misuse: bad_policies_cost_the_round,
                                         bad_environments_cost_their_agent_the_round,
                                         endless_environments_are_cut
     options out of range                test_rn_misuse: bad_descs_are_refused
     saved bytes                         test_rn_saving: damage_is_noticed, planted_nan_is_refused,
                                         forged_states_do_no_harm, environments_may_refuse
     threads, budgets and resume         test_both_bits
     points: same bits
     federation: what is damaged or      test_rn_federation: damaged_on_the_way_to_the_hub,
     forged changes nothing              damaged_on_the_way_to_a_peer, forged_for_the_hub,
                                         forged_for_a_peer; fuzz/hub.c, fuzz/peer.c
     memory is what _size() says         the same: the whole block is compared, under make asan
     one link, one vote                  test_rn_federation: the_first_row_of_a_round_counts
     late rows convict nobody,           test_rn_federation: a_quorum_at_the_deadline, quorums,
     fewer than 2f+1 make no update      goodbyes
     losses and deaths change no bit     test_rn_federation: nothing_is_lost, the_trainers_bits

   The rest is here. */
#include "implementation.h"
#include "resnharpg.h"
#include "examples/envs/cartpole.h"
#include "examples/pool.h"
#include "greatest.h"
#include "common.h"

enum { N = 11, F = 2, DIM = 5000, THREADS = 4 };

static pool four; /* threads for all tests */

/* ---- aggregators.h: calls at the same time share desc, start and rows */
typedef struct call {
    const agg_desc *desc;
    const rows *x;
    agg_real out[DIM];
    double weight[N], suspicion[N];
    agg_status status;
} call;

static void call_job(void *arg, size_t i) {
    call *c = (call *)arg + i;
    rng own = rng_make(1); /* a generator is not shared */
    const agg_desc d = desc_with_rng(c->desc, &own);
    const size_t size = agg_scratch_size(&d);
    void *scratch = need(malloc(size));
    agg_report report;
    memset(&report, 0, sizeof report);
    report.weight = c->weight;
    report.suspicion = c->suspicion;
    c->status = agg_aggregate(&d, c->x->row, c->out, scratch, size, &report);
    free(scratch);
}

TEST calls_share_what_they_read(agg_rule rule) {
    rng r = rng_make(7);
    rows x = rows_new(N, DIM), before = rows_new(N, DIM);
    agg_real start[DIM] = {0}, trusted[DIM] = {1};
    agg_desc d = agg_make_desc(rule, N, DIM, F), copy;
    call *calls = (call *)need(calloc(THREADS + 1, sizeof *calls));
    d.start = start;
    d.trusted = trusted;
    d.pre[0] = AGG_PRE_ARC;
    copy = d;
    fill_rows(&x, LAY_RANDOM, &r);
    memcpy(before.data, x.data, N * DIM * sizeof *x.data);
    for (size_t i = 0; i <= THREADS; i++) {
        calls[i].desc = &d;
        calls[i].x = &x;
    }
    call_job(calls, THREADS);
    pool_run(&four, THREADS, call_job, calls);
    for (size_t i = 0; i < THREADS; i++) {
        ASSERT(wrote(calls[i].status));
        ASSERT_EQ(calls[THREADS].status, calls[i].status);
        ASSERT(same_bits(calls[THREADS].out, calls[i].out, DIM));
        ASSERT_MEM_EQ(calls[THREADS].weight, calls[i].weight, sizeof calls[i].weight);
        ASSERT_MEM_EQ(calls[THREADS].suspicion, calls[i].suspicion, sizeof calls[i].suspicion);
    }
    ASSERT_MEM_EQ(before.data, x.data, N * DIM * sizeof *x.data);
    ASSERT_MEM_EQ(&copy, &d, sizeof d);
    for (size_t k = 0; k < DIM; k++) ASSERT(start[k] == 0 && trusted[k] == (k == 0));
    free(calls);
    rows_free(&x);
    rows_free(&before);
    PASS();
}

/* ---- who calls back on which thread */
typedef struct watcher { /* of a callback that belongs to one thread */
    pthread_t home;
    size_t calls, strangers;
    rng r;
} watcher;

static watcher watcher_make(void) {
    watcher w;
    memset(&w, 0, sizeof w);
    w.home = pthread_self();
    w.r = rng_make(3);
    return w;
}

static void watch(watcher *w) {
    w->calls++;
    w->strangers += !pthread_equal(w->home, pthread_self());
}

static uint64_t watched_bits(void *self) {
    watch((watcher *)self);
    return rng_next(&((watcher *)self)->r);
}

TEST random_bits_come_from_the_calling_thread(void) {
    rng r = rng_make(8);
    rows x = rows_new(N, DIM);
    agg_desc d = agg_make_desc(AGG_CWMED, N, DIM, F);
    watcher w = watcher_make();
    call c;
    fill_rows(&x, LAY_RANDOM, &r);
    memset(&c, 0, sizeof c);
    d.pre[0] = AGG_PRE_BUCKETING;
    d.rng.next = watched_bits;
    d.rng.self = &w;
    d.jobs.run = pool_run;
    d.jobs.self = &four;
    c.desc = &d;
    c.x = &x;
    call_job(&c, 0);
    ASSERT_EQ(AGG_OK, c.status);
    ASSERT(w.calls >= N / 2);
    ASSERT_EQ((size_t)0, w.strangers);
    rows_free(&x);
    PASS();
}

/* ---- resnharpg.h: an environment and random numbers that notice two visitors at once */
typedef struct room {
    cartpole pole;
    rn_env env; /* what is behind it */
    pthread_mutex_t lock;
    int inside;
    size_t visits, crowds;
    rn_random random;
} room;

static void room_enter(room *m, int by) {
    pthread_mutex_lock(&m->lock);
    m->inside += by;
    m->visits += by > 0;
    m->crowds += m->inside > 1;
    pthread_mutex_unlock(&m->lock);
}

static void room_reset(void *self, const agg_rng *r, rn_real *obs) {
    room *m = (room *)self;
    const agg_rng own = rn_random_rng(&m->random); /* r would come in again */
    (void)r;
    room_enter(m, 1);
    m->env.reset(m->env.self, &own, obs);
    room_enter(m, -1);
}

static rn_step_result room_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                double *reward) {
    room *m = (room *)self;
    rn_step_result result;
    room_enter(m, 1);
    result = m->env.step(m->env.self, act, r, obs, reward);
    room_enter(m, -1);
    return result;
}

static uint64_t room_bits(void *self) {
    room *m = (room *)self;
    uint64_t bits;
    room_enter(m, 1);
    bits = rn_random_next(&m->random);
    room_enter(m, -1);
    return bits;
}

static double watched_gamma(void *self, size_t t) {
    watch((watcher *)self);
    return 0.05 / (double)t;
}

static void watched_progress(void *self, const rn_progress *p) {
    (void)p;
    watch((watcher *)self);
}

static agg_status watched_rule(void *self, const rn_real *const *sent, size_t n, size_t dim,
                               rn_real *out) {
    watch((watcher *)self);
    (void)n;
    memcpy(out, sent[0], dim * sizeof *out);
    return AGG_OK;
}

TEST callbacks_keep_to_their_agent_or_thread(int own_rule) {
    static room rooms[N];
    static rn_env envs[N];
    agg_rng rngs[N];
    rn_net net, before;
    rn_net_desc shape = rn_make_net_desc(4, 2);
    rn_trainer_desc d;
    rn_trainer *t = NULL;
    watcher bits = watcher_make(), gamma = watcher_make(), progress = watcher_make(),
            rule = watcher_make();
    shape.hidden[0] = 8;
    d = rn_make_trainer_desc(N, F, envs, rn_make_net_policy(&net, &shape));
    memcpy(&before, &net, sizeof net);
    for (size_t i = 0; i < N; i++) {
        memset(&rooms[i], 0, sizeof rooms[i]);
        pthread_mutex_init(&rooms[i].lock, NULL);
        rooms[i].random = rn_make_random(5, (uint32_t)i);
        rooms[i].env = envs[i] = cartpole_env(&rooms[i].pole);
        envs[i].self = &rooms[i];
        envs[i].reset = room_reset;
        envs[i].step = room_step;
        envs[i].state_size = 0;
        rngs[i].next = room_bits;
        rngs[i].self = &rooms[i];
    }
    d.rngs = rngs;
    d.jobs.run = d.server.agg.jobs.run = pool_run;
    d.jobs.self = d.server.agg.jobs.self = &four;
    d.server.agg.pre[0] = AGG_PRE_BUCKETING;
    d.server.agg.rng.next = watched_bits;
    d.server.agg.rng.self = &bits;
    d.server.gamma.kind = RN_SCHEDULE_CALLBACK;
    d.server.gamma.at = watched_gamma;
    d.server.gamma.self = &gamma;
    d.progress = watched_progress;
    d.progress_self = &progress;
    if (own_rule) d.server.aggregate = watched_rule;
    d.server.aggregate_self = &rule;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &d));
    for (int round = 0; round < 10; round++) ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    rn_trainer_destroy(t);
    for (size_t i = 0; i < N; i++) {
        ASSERT(rooms[i].visits > 100);
        ASSERT_EQ((size_t)0, rooms[i].crowds);
        pthread_mutex_destroy(&rooms[i].lock);
    }
    ASSERT(own_rule ? rule.calls == 10 : bits.calls >= 10);
    ASSERT(gamma.calls >= 10 && progress.calls == 10);
    ASSERT_EQ((size_t)0, bits.strangers + gamma.strangers + progress.strangers + rule.strangers);
    ASSERT_MEM_EQ(&before, &net, sizeof net); /* shared by all, so nobody writes to it */
    PASS();
}

/* ---- different objects, any threads at once; one net for all of them */
typedef struct run_of {
    const rn_policy *policy;
    uint64_t seed;
    rn_real theta[DIM];
    rn_status status;
} run_of;

static void train_job(void *arg, size_t i) {
    run_of *r = (run_of *)arg + i;
    cartpole poles[N];
    rn_env envs[N];
    rn_trainer_desc d;
    rn_trainer *t = NULL;
    for (size_t k = 0; k < N; k++) envs[k] = cartpole_env(&poles[k]);
    d = rn_make_trainer_desc(N, F, envs, *r->policy);
    d.seed = r->seed;
    d.adversaries = F;
    r->status = rn_trainer_create(&t, &d);
    for (int round = 0; r->status == RN_OK && round < 8; round++)
        r->status = rn_trainer_run_round(t);
    if (r->status == RN_OK) memcpy(r->theta, rn_trainer_theta(t), d.policy.dim * sizeof *r->theta);
    rn_trainer_destroy(t);
}

TEST trainers_do_not_meet(void) {
    run_of *runs = (run_of *)need(calloc(2 * THREADS, sizeof *runs));
    rn_net net;
    rn_net_desc shape = rn_make_net_desc(4, 2);
    rn_policy policy;
    shape.hidden[0] = shape.hidden[1] = 16;
    policy = rn_make_net_policy(&net, &shape);
    for (size_t i = 0; i < 2 * THREADS; i++) {
        runs[i].policy = &policy;
        runs[i].seed = i % THREADS;
    }
    for (size_t i = 0; i < THREADS; i++) train_job(runs, i);
    pool_run(&four, THREADS, train_job, runs + THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        ASSERT_EQ(RN_OK, runs[i].status);
        ASSERT_EQ(RN_OK, runs[THREADS + i].status);
        ASSERT(same_bits(runs[i].theta, runs[THREADS + i].theta, policy.dim));
    }
    /* the seeds differ: the runs are not empty */
    ASSERT_FALSE(same_bits(runs[0].theta, runs[1].theta, policy.dim));
    free(runs);
    PASS();
}

SUITE(threads) {
    for (int rule = 0; rule < AGG_RULE_COUNT; rule++)
        RUN_TESTp(calls_share_what_they_read, (agg_rule)rule);
    RUN_TEST(random_bits_come_from_the_calling_thread);
    RUN_TESTp(callbacks_keep_to_their_agent_or_thread, 0);
    RUN_TESTp(callbacks_keep_to_their_agent_or_thread, 1);
    RUN_TEST(trainers_do_not_meet);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    pool_start(&four, THREADS);
    RUN_SUITE(threads);
    pool_stop(&four);
    GREATEST_MAIN_END();
}
