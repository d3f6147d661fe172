/* soak - many rounds of random tiny federations. usage: soak [rounds [seed]]

   Each federation runs twice: once undisturbed, and once in pieces: ticks of any budget, and now
   and then everything is saved, thrown away with its memory and its environments, and loaded again.
   Agents fall silent and come back, adversaries change what they do. After each round
     - both have the same theta, to the bit: nothing is lost;
     - the server's d is within lambda times the diameter of every set of n-f of its rows: the bound
       is never broken;
     - theta is finite, and stays where it is if the rule refused.
   Beside each federation the rules meet a structured adversary, with up to 40 rows, and goals that
   they cannot reach: AGG_INEXACT has to keep its bound too.
   The last line has the counts. Exit status 1 at the first broken promise, with the seed that
   repeats it. */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "common.h"
#include "reference.h"
#include "structured.h"
#include "tiny.h"

enum { MOST_AGENTS = 7, MOST_DIM = 24 };

typedef struct counts {
    unsigned long rounds, federations, steps, refused, saved, killed, killed_midway, silent,
        attacks, checked, exceeded, scenes, inexact;
    unsigned long by_rule[AGG_RULE_COUNT];
    double closest; /* the largest ratio / lambda */
} counts;

static counts count;
static uint64_t seed_now; /* of the federation at work */

#define PROMISE(x)                                                                                 \
    do {                                                                                           \
        if (!(x)) broken(#x, __LINE__);                                                            \
    } while (0)

static void broken(const char *what, int line) {
    printf("soak.c:%d: broken: %s\nrepeat with: soak 1 %llu\n", line, what,
           (unsigned long long)seed_now);
    exit(1);
}

/* ---- a federation; two of them made from the same plan are twins */
typedef struct plan {
    mdp m;
    model p;
    rn_trainer_desc d;
    rn_attack attacks[MOST_AGENTS]; /* what adversaries choose from: room is laid out for these */
    agg_desc rule;                  /* for attacks that try the rule, where we call it */
    int table, check;               /* check: the rule has a lambda, and no step in front of it */
} plan;

typedef struct side { /* one of the twins */
    walk walks[MOST_AGENTS];
    rn_env envs[MOST_AGENTS];
    rn_trainer *t;
    rn_attack attacks[MOST_AGENTS]; /* not saved: the host's to keep */
} side;

static double pick_number(rng *r, double a, double b) { return a + (b - a) * rng_unit(r); }

static void plan_method(rn_method *m, rng *r) {
    m->horizon = 1 + rng_below(r, 6);
    m->batch = 1 + rng_below(r, 2);
    m->discount = rng_unit(r);
    m->estimator = (rn_estimator)rng_below(r, 2);
    m->baseline = (rn_baseline)rng_below(r, 3);
    m->no_hessian = rng_below(r, 4) == 0;
    m->causal = (int)rng_below(r, 2);
    m->whiten = rng_below(r, 4) == 0;
    m->clip = rng_below(r, 4) ? 0 : rng_unit(r);
    m->flat = m->estimator == RN_GPOMDP && rng_below(r, 2);
    m->reuse = !m->no_hessian && rng_below(r, 3) == 0;
    m->tuned = !m->no_hessian && !m->no_memory && rng_below(r, 3) == 0;
}

static void plan_server(plan *p, size_t n, rng *r) {
    rn_server_desc *s = &p->d.server;
    /* Bulyan needs 3 buckets */
    const agg_rule rule = rule_at(rng_below(r, n < 5 ? AGG_MEAN + 1 : AGG_RULE_COUNT));
    const agg_pre pre =
        (agg_pre)(rng_below(r, 4) ? 0 : AGG_PRE_NNM + rng_below(r, AGG_PRE_COUNT - AGG_PRE_NNM));
    const size_t most = agg_max_f(rule, pre == AGG_PRE_BUCKETING ? (n + 1) / 2 : n);
    const double lambda = agg_lambda(rule, n, most, p->p.policy.dim);
    s->agg = agg_make_desc(rule, 0, 0, rng_below(r, most + 1));
    s->agg.pre[0] = pre;
    s->agg.clip = 1;
    s->update = (rn_update_kind)rng_below(r, 4);
    s->gamma = rng_below(r, 2) ? rn_schedule_linear(pick_number(r, 0, 1), 0, 20)
                               : rn_schedule_staircase(pick_number(r, 0, 1), 0.5, 5);
    s->eta = rng_below(r, 2) ? rn_schedule_constant(rng_unit(r)) : rn_theory_eta();
    s->radius = rng_below(r, 4) ? 0 : pick_number(r, 0.1, 3);
    s->soft = s->update != RN_UPDATE_PLAIN && rng_below(r, 2);
    if (s->update == RN_UPDATE_NORMALISED && rng_below(r, 3) == 0) s->kl = 0.01;
    p->check = !s->agg.pre[0] && lambda >= 0 && lambda <= DBL_MAX;
}

static rn_attack pick_attack(const plan *p, rng *r) {
    rn_attack l;
    memset(&l, 0, sizeof l);
    l.kind = (rn_attack_kind)rng_below(r, RN_ATTACK_NONE);
    l.vector.kind = (agg_attack_kind)rng_below(r, AGG_ATTACK_COUNT);
    l.vector.strength = rng_below(r, 2) ? 0 : pow(10, pick_number(r, -3, 30));
    l.vector.rule = p->check ? &p->rule : NULL;
    return l;
}

static void plan_attacks(plan *p, size_t n, rng *r) {
    p->rule = p->d.server.agg;
    p->rule.n = n;
    p->rule.dim = p->p.policy.dim;
    for (size_t i = 0; i < n; i++) p->attacks[i] = pick_attack(p, r);
    p->d.attacks = p->attacks;
}

static void plan_make(plan *p, rng *r) {
    const size_t n = 1 + rng_below(r, MOST_AGENTS);
    const rn_net_desc net =
        net_desc(FEATURES, ACTIONS, rng_below(r, 4), 0, (rn_activation)rng_below(r, 3));
    memset(p, 0, sizeof *p);
    p->m = mdp_random(rng_next(r));
    p->table = (int)rng_below(r, 2);
    model_for_walk(&p->p, p->table, &net);
    PROMISE(p->p.policy.dim <= MOST_DIM);
    p->d.agents = n;
    p->d.policy = p->p.policy;
    p->d.seed = rng_next(r);
    plan_method(&p->d.method, r);
    plan_server(p, n, r);
    plan_attacks(p, n, r);
}

/* what a rule promises for its status */
static double bound_of(agg_rule rule, agg_status s, size_t n, size_t f, size_t dim) {
    return s == AGG_INEXACT && rule == AGG_MDA ? 3 * (double)f / (double)(n - f)
                                               : agg_lambda(rule, n, f, dim);
}

/* the server's rule, called by us, so that we see the rows; what it gives must be what the server
   does by itself */
static agg_status checked_rule(void *self, const rn_real *const *sent, size_t n, size_t dim,
                               rn_real *out) {
    const agg_desc *d = (const agg_desc *)self;
    const agg_real *good[MOST_AGENTS];
    const agg_status s = run(d, sent, out, NULL);
    size_t m = 0, f;
    double lambda, ratio;
    PROMISE(s != RUN_DAMAGE);
    for (size_t i = 0; i < n; i++)
        if (ref_row_ok(sent[i], dim)) good[m++] = sent[i];
    PROMISE(wrote(s) == (n - m <= d->f));
    if (!wrote(s)) return s;
    f = d->f - (n - m);
    lambda = bound_of(d->rule, s, m, f, dim);
    ratio =
        (double)ref_resilience(good, m, dim, f, out, 4 * (ref_num)EPS * (ref_num)sqrt((double)dim));
    PROMISE(ratio <= lambda * (1 + 1e-5));
    if (f && lambda > 0 && ratio / lambda > count.closest) count.closest = ratio / lambda;
    count.checked++;
    count.inexact += s == AGG_INEXACT;
    return s;
}

/* a rule with a lambda in a scene of several scales */
static void scene_check(rng *r) {
    const agg_rule rule = rule_at(rng_below(r, AGG_MEAN));
    const size_t n = 3 + rng_below(r, rng_below(r, 4) ? 8 : 38), most = (n - 1) / 2;
    const size_t f = rng_below(r, 2) ? most : 1 + rng_below(r, most);
    agg_desc d = agg_make_desc(rule, n, scene_dim(n, f, 30), f);
    const scene sc = scene_random(n, f, r);
    const ref_num slack = 4 * (ref_num)EPS * (ref_num)sqrt((double)d.dim);
    rows x = rows_new(n, d.dim);
    agg_real out[30];
    agg_status s;
    double ratio;
    if (rng_below(r, 4) == 0) d.gap = 1e-300;
    if (rng_below(r, 4) == 0) d.budget = 1;
    scene_rows(&sc, &x, f, r);
    s = run(&d, x.row, out, NULL);
    PROMISE(wrote(s) && all_finite(out, d.dim));
    ratio = (double)(n < 9 ? ref_resilience(x.row, n, d.dim, f, out, slack)
                           : ref_resilience_of_balls(x.row, n, d.dim, f, out, slack));
    PROMISE(ratio <= bound_of(rule, s, n, f, d.dim) * (1 + 1e-5));
    count.scenes++;
    count.inexact += s == AGG_INEXACT;
    rows_free(&x);
}

static void side_start(side *s, const plan *p, agg_desc *watched) {
    rn_trainer_desc d = p->d;
    for (size_t i = 0; i < d.agents; i++) s->envs[i] = walk_env(&s->walks[i], &p->m, p->table);
    d.envs = s->envs;
    if (watched) {
        *watched = d.server.agg;
        watched->n = d.agents;
        watched->dim = d.policy.dim;
        d.server.aggregate = checked_rule;
        d.server.aggregate_self = watched;
    }
    PROMISE(rn_trainer_create(&s->t, &d) == RN_OK);
}

static void side_attacks(const side *s, const plan *p) {
    for (size_t i = 0; i < p->d.agents; i++)
        PROMISE(rn_trainer_set_attack(s->t, i, &s->attacks[i]) == RN_OK);
}

/* ---- what changes between rounds: at most f attack or are silent, except that sometimes too
   many are silent */
static void churn(side *a, side *b, const plan *p, rng *r) {
    const size_t n = p->d.agents, f = p->d.server.agg.f;
    const size_t bad = rng_below(r, 16) == 0 ? rng_below(r, n + 1) : rng_below(r, f + 1);
    for (size_t i = 0; i < n; i++) a->attacks[i].kind = RN_ATTACK_NONE;
    for (size_t i = 0; i < bad; i++) {
        rn_attack *l = &a->attacks[rng_below(r, n)];
        *l = p->attacks[rng_below(r, n)];
        if (bad > f) l->kind = RN_ATTACK_SILENCE;
        count.silent += l->kind == RN_ATTACK_SILENCE;
        count.attacks += l->kind != RN_ATTACK_SILENCE;
    }
    memcpy(b->attacks, a->attacks, sizeof a->attacks);
    side_attacks(a, p);
    side_attacks(b, p);
}

/* ---- kill and resume */
static void kill_and_resume(side *s, const plan *p, agg_desc *watched, int midway) {
    const size_t size = rn_trainer_save_size(s->t);
    unsigned char *bytes = (unsigned char *)need(malloc(size));
    PROMISE(rn_trainer_save(s->t, bytes, size) == RN_OK);
    count.saved++;
    rn_trainer_destroy(s->t);
    memset(s->walks, CANARY, sizeof s->walks);
    side_start(s, p, watched);
    side_attacks(s, p); /* before the state: in the middle of a round they cannot be set */
    PROMISE(rn_trainer_load(s->t, bytes, size) == RN_OK);
    count.killed++;
    count.killed_midway += midway != 0;
    free(bytes);
}

static rn_status round_in_pieces(side *s, const plan *p, agg_desc *watched, rng *r) {
    rn_status st = RN_MORE;
    while (st == RN_MORE) {
        if (rng_below(r, 8) == 0) kill_and_resume(s, p, watched, st == RN_MORE);
        st = rn_trainer_tick(s->t, 1 + rng_below(r, 40), NULL);
    }
    return st;
}

/* too many rows are bad, or the one that MoNNA trusts */
static int refusal_is_right(const plan *p, const rn_progress *q) {
    return q->dropped > p->d.server.agg.f
               ? q->aggregate == AGG_ERR_ROWS || q->aggregate == AGG_ERR_PIVOT
               : q->aggregate == AGG_ERR_PIVOT;
}

static void federation(unsigned long rounds_wanted, rng *r) {
    static plan p;
    static side whole, pieces;
    agg_desc watched;
    rn_real before[MOST_DIM];
    size_t dim;
    memset(&whole, 0, sizeof whole);
    memset(&pieces, 0, sizeof pieces);
    plan_make(&p, r);
    dim = p.p.policy.dim;
    side_start(&whole, &p, NULL);
    side_start(&pieces, &p, p.check ? &watched : NULL);
    count.federations++;
    for (unsigned long i = 0; i < rounds_wanted; i++) {
        rn_status a, b;
        /* not in each round: some attacks remember */
        if (i == 0 || rng_below(r, 2)) churn(&whole, &pieces, &p, r);
        memcpy(before, rn_trainer_theta(whole.t), dim * sizeof *before);
        a = rn_trainer_run_round(whole.t);
        b = round_in_pieces(&pieces, &p, p.check ? &watched : NULL, r);
        PROMISE(a == b && (a == RN_OK || a == RN_ERR_AGGREGATE || a == RN_ERR_THETA));
        PROMISE(same_bits(rn_trainer_theta(whole.t), rn_trainer_theta(pieces.t), dim));
        PROMISE(all_finite(rn_trainer_theta(whole.t), dim));
        PROMISE(a == RN_OK || same_bits(before, rn_trainer_theta(whole.t), dim));
        PROMISE(rn_trainer_progress(whole.t)->dropped == rn_trainer_progress(pieces.t)->dropped);
        PROMISE(a != RN_ERR_AGGREGATE || refusal_is_right(&p, rn_trainer_progress(whole.t)));
        count.rounds++;
        count.by_rule[p.d.server.agg.rule]++;
        count.refused += a == RN_ERR_AGGREGATE;
        count.exceeded += a == RN_ERR_THETA;
    }
    count.steps += (unsigned long)rn_trainer_progress(whole.t)->env_steps;
    rn_trainer_destroy(whole.t);
    rn_trainer_destroy(pieces.t);
}

int main(int argc, char **argv) {
    const unsigned long wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
    seed_now = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    while (count.rounds < wanted) {
        rng r = rng_make(seed_now);
        federation(1 + rng_below(&r, 60), &r);
        for (int i = 0; i < 10; i++) scene_check(&r);
        seed_now++;
    }
    printf("by rule:");
    for (size_t i = 0; i < AGG_RULE_COUNT; i++)
        printf(" %s %lu", agg_rule_name(rule_at(i)), count.by_rule[i]);
    printf("\nsoak: %lu rounds of %lu federations, %lu steps of their environments; %lu attacks, "
           "%lu silent rows; %lu times saved, killed "
           "and resumed, each with the bits of the undisturbed twin; %lu rounds refused for more "
           "than f bad rows, %lu for "
           "a theta that would not be finite; bound checked %lu times, never broken, closest %.4f "
           "of lambda; and in %lu scenes of several scales; %lu of these inexact\n",
           count.rounds, count.federations, count.steps, count.attacks, count.silent, count.killed,
           count.refused, count.exceeded, count.checked, count.closest, count.scenes,
           count.inexact);
    return 0;
}
