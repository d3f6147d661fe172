/* Threads: with pools of 2 to 8 both headers give the bits they give alone, and calls at the same
   time share what they are allowed to share. `make tsan` looks for races while this runs. */
#if defined(__unix__) || defined(__APPLE__)
#define _POSIX_C_SOURCE 200112L
#define HAVE_THREADS    1
#else
#define HAVE_THREADS 0
#endif
#include "implementation.h"
#include "resnharpg.h"
#include "greatest.h"
#include "common.h"
#include "tiny.h"

#if HAVE_THREADS
#include "../examples/pool.h"

enum { N = 7, MOST = 8 };

/* ---- one call, spread over a pool. Several slices of coordinates, or there would be one job. */
TEST pools_and_rules(agg_rule rule) {
    static const size_t dims[] = {5, 4099, 9000};
    for (size_t c = 0; c < 3; c++)
        for (int pre = 0; pre < AGG_PRE_COUNT; pre++) {
            const size_t dim = dims[c];
            agg_desc d =
                agg_make_desc(rule, N, dim, rule == AGG_MEAN || pre == AGG_PRE_BUCKETING ? 0 : 1);
            rng r = rng_make(dim), seeded;
            rows x = rows_new(N, dim);
            agg_real *alone = (agg_real *)need(malloc(dim * sizeof *alone)),
                     *out = (agg_real *)need(malloc(dim * sizeof *out));
            agg_report rep = report_new(N);
            fill_rows(&x, LAY_RANDOM, &r);
            d.pre[0] = (agg_pre)pre;
            d.clip = 1;
            d.rng = rng_for_library(&seeded);
            seeded = rng_make(1);
            ASSERT(wrote(run(&d, x.row, alone, &rep)));
            for (int threads = 2; threads <= MOST; threads += 1 + (int)c) {
                pool p;
                pool_start(&p, threads);
                d.jobs.run = pool_run;
                d.jobs.self = &p;
                seeded = rng_make(1);
                ASSERT(wrote(run(&d, x.row, out, &rep)));
                pool_stop(&p);
                ASSERTm(agg_rule_name(rule), same_bits(alone, out, dim));
            }
            report_free(&rep);
            free(alone);
            free(out);
            rows_free(&x);
        }
    PASS();
}

/* ---- a trainer: environments and random numbers of each agent's own, one policy for all */
typedef struct team {
    mdp m;
    walk walks[N];
    rn_env envs[N];
    rn_trainer_desc d;
} team;

static void team_make(team *t, const model *p, rn_baseline baseline) {
    memset(t, 0, sizeof *t);
    t->m = mdp_random(70);
    for (size_t i = 0; i < N; i++) t->envs[i] = walk_env(&t->walks[i], &t->m, p->table);
    t->d = rn_make_trainer_desc(N, 2, t->envs, p->policy);
    t->d.method.horizon = 6;
    t->d.method.batch = 2;
    t->d.method.baseline = baseline;
    t->d.adversaries = 2;
    t->d.attack.vector.kind = AGG_ATTACK_NOISE;
}

static void model_make(model *p, int table) {
    const rn_net_desc net = net_desc(FEATURES, ACTIONS, 3, 3, RN_TANH);
    model_for_walk(p, table, &net);
}

TEST pools_and_trainers(int table, rn_baseline baseline) {
    static team alone, pooled;
    static model p;
    model_make(&p, table);
    for (int threads = 2; threads <= MOST; threads++) {
        rn_trainer *a, *b;
        pool workers;
        team_make(&alone, &p, baseline);
        team_make(&pooled, &p, baseline);
        pool_start(&workers, threads);
        pooled.d.jobs.run = pool_run;
        pooled.d.jobs.self = &workers;
        /* the server's rule on the same pool, between the agents' turns */
        pooled.d.server.agg.jobs = pooled.d.jobs;
        ASSERT_EQ(RN_OK, rn_trainer_create(&a, &alone.d));
        ASSERT_EQ(RN_OK, rn_trainer_create(&b, &pooled.d));
        for (int round = 0; round < 6; round++) {
            rn_status s = RN_MORE;
            ASSERT_EQ(RN_OK, rn_trainer_run_round(a));
            while (s == RN_MORE) s = rn_trainer_tick(b, 13, NULL);
            ASSERT_EQ(RN_OK, s);
            ASSERT(same_bits(rn_trainer_theta(a), rn_trainer_theta(b), p.policy.dim));
        }
        rn_trainer_destroy(a);
        rn_trainer_destroy(b);
        pool_stop(&workers);
    }
    PASS();
}

/* ---- calls at the same time: desc, rows and policy are shared; out, scratch and trainers are
   each caller's own */
typedef struct crowd {
    const agg_desc *d;
    const rows *x;
    const model *p;
    agg_real out[MOST][32];
    rn_real theta[MOST][32];
    rn_status status[MOST];
    team teams[MOST];
} crowd;

static void crowd_job(void *arg, size_t i) {
    crowd *c = (crowd *)arg;
    rn_trainer *t;
    (void)run(c->d, c->x->row, c->out[i], NULL);
    team_make(&c->teams[i], c->p, RN_BASELINE_RIDGE);
    c->status[i] = rn_trainer_create(&t, &c->teams[i].d);
    for (int round = 0; round < 4 && c->status[i] == RN_OK; round++)
        c->status[i] = rn_trainer_run_round(t);
    if (c->status[i] != RN_OK) return;
    memcpy(c->theta[i], rn_trainer_theta(t), c->p->policy.dim * sizeof *c->theta[i]);
    rn_trainer_destroy(t);
}

TEST many_at_the_same_time(void) {
    static crowd c;
    static model p;
    pool workers;
    rows x = rows_new(9, 32);
    rng r = rng_make(8);
    fill_rows(&x, LAY_RANDOM, &r);
    model_make(&p, 0);
    ASSERT(p.policy.dim <= 32);
    pool_start(&workers, MOST);
    for (size_t rule = 0; rule < AGG_RULE_COUNT; rule++) {
        const agg_desc d = agg_make_desc(rule_at(rule), 9, 32, rule == AGG_MEAN ? 0 : 1);
        memset(&c, 0, sizeof c);
        c.d = &d;
        c.x = &x;
        c.p = &p;
        pool_run(&workers, MOST, crowd_job, &c);
        for (size_t i = 0; i < MOST; i++) {
            ASSERT_EQ(RN_OK, c.status[i]);
            ASSERT(same_bits(c.out[0], c.out[i], 32) &&
                   same_bits(c.theta[0], c.theta[i], p.policy.dim));
        }
    }
    pool_stop(&workers);
    rows_free(&x);
    PASS();
}

SUITE(threads) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        greatest_set_test_suffix(agg_rule_name(rule_at(i)));
        RUN_TESTp(pools_and_rules, rule_at(i));
    }
    for (int baseline = 0; baseline < 3; baseline++) {
        RUN_TESTp(pools_and_trainers, 0, (rn_baseline)baseline);
        RUN_TESTp(pools_and_trainers, 1, (rn_baseline)baseline);
    }
    RUN_TEST(many_at_the_same_time);
}
#else
TEST no_threads(void) { SKIPm("threads are only tried where there is pthread.h"); }

SUITE(threads) { RUN_TEST(no_threads); }
#endif

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(threads);
    GREATEST_MAIN_END();
}
