/* Adversaries in a trainer: what each knows, slow poison, attacks of the host's own, what is filled
   in for agg_attack(), and reward poisoning against brute force. */
#include "implementation.h"
#include "resnharpg.h"
#include "greatest.h"
#include "common.h"
#include "tiny.h"
#include "saved.h"

enum { MOST_DIM = 64, MOST_AGENTS = TEAM + 1 };

/* a rule of the host's own that keeps what was sent */
typedef struct spy {
    rn_real sent[MOST_AGENTS][MOST_DIM];
    int came[MOST_AGENTS];
} spy;

static agg_status spy_rule(void *self, const rn_real *const *given, size_t n, size_t dim,
                           rn_real *out) {
    spy *s = (spy *)self;
    memset(out, 0, dim * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        s->came[i] = given[i] != NULL;
        if (given[i]) memcpy(s->sent[i], given[i], dim * sizeof *out);
        for (size_t j = 0; given[i] && j < dim; j++) out[j] += given[i][j] / (rn_real)n;
    }
    return AGG_OK;
}

typedef struct stage {
    setup s;
    spy spy;
    agg_desc rule;
    rn_trainer *t;
} stage;

static void stage_make(stage *g, size_t adversaries, agg_attack_kind kind) {
    memset(g, 0, sizeof *g);
    setup_make(&g->s, PLAIN);
    g->rule = agg_make_desc(AGG_CWTM, TEAM, g->s.d.policy.dim, 1);
    g->s.d.adversaries = adversaries;
    g->s.d.attack.vector.kind = kind;
    g->s.d.attack.vector.rule = &g->rule;
    g->s.d.server.aggregate = spy_rule;
    g->s.d.server.aggregate_self = &g->spy;
}

static rn_status stage_open(stage *g) { return rn_trainer_create(&g->t, &g->s.d); }

static const rn_real *own_row(const stage *g, size_t i) {
    return rn_agent_direction(rn_trainer_agent(g->t, i));
}

/* with everything known a row is what agg_attack() makes of the honest rows */
TEST rows_are_those_of_agg_attack(agg_attack_kind kind) {
    stage g;
    stage_make(&g, 1, kind);
    ASSERT_EQ(RN_OK, stage_open(&g));
    for (int round = 0; round < 3; round++) {
        const size_t dim = g.s.d.policy.dim;
        const rn_real *honest[TEAM];
        rn_real want[MOST_DIM], last[MOST_DIM];
        agg_attack_desc a = g.s.d.attack.vector;
        size_t size;
        void *scratch;
        memcpy(last, rn_server_direction(rn_trainer_server(g.t)), dim * sizeof *last);
        ASSERT_EQ(RN_OK, rn_trainer_run_round(g.t));
        for (size_t i = 0; i + 1 < TEAM; i++) honest[i] = own_row(&g, i);
        a.n = TEAM;
        a.f = 1;
        a.last = round ? last : NULL;
        size = agg_attack_scratch_size(&a, TEAM - 1, dim);
        scratch = need(malloc(size + 1));
        a.scratch = scratch;
        a.scratch_size = size;
        ASSERT_EQ(AGG_OK, agg_attack(&a, honest, TEAM - 1, dim, own_row(&g, TEAM - 1), want));
        ASSERT(g.spy.came[TEAM - 1]);
        ASSERT(same_bits(want, g.spy.sent[TEAM - 1], dim));
        free(scratch);
    }
    rn_trainer_destroy(g.t);
    PASS();
}

/* every kind there is gives rows, with whatever it knows, and theta stays finite */
TEST every_kind_plays(agg_attack_kind kind, rn_knowledge knows) {
    const int convicts = kind == AGG_ATTACK_INF || kind == AGG_ATTACK_NAN;
    setup s;
    rn_trainer *t = NULL;
    setup_make(&s, PLAIN);
    s.d.adversaries = 1;
    s.d.attack.vector.kind = kind;
    s.d.attack.knows = knows;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    for (int round = 0; round < 4; round++) {
        ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
        ASSERT_EQ(convicts ? 1u : 0u, rn_trainer_progress(t)->dropped);
        ASSERT(all_finite(rn_trainer_theta(t), s.d.policy.dim));
    }
    rn_trainer_destroy(t);
    PASS();
}

/* -mean/2 of the rows it knows; two adversaries share what they know, not more */
TEST knowledge_is_what_it_says(rn_knowledge knows) {
    stage g;
    stage_make(&g, 2, AGG_ATTACK_IPM);
    g.s.d.attack.knows = knows;
    ASSERT_EQ(RN_OK, stage_open(&g));
    for (int round = 0; round < 3; round++) {
        ASSERT_EQ(RN_OK, rn_trainer_run_round(g.t));
        for (size_t i = 2; i < 4; i++)
            for (size_t j = 0; j < g.s.d.policy.dim; j++) {
                const double a = (double)own_row(&g, 0)[j], b = (double)own_row(&g, 1)[j];
                const double c = (double)own_row(&g, 2)[j], e = (double)own_row(&g, 3)[j];
                const double mine = (double)own_row(&g, i)[j];
                const double mean = knows == RN_KNOWS_ALL           ? (a + b) / 2
                                    : knows == RN_KNOWS_ADVERSARIES ? (c + e) / 2
                                                                    : mine;
                ASSERT_IN_RANGE(-mean / 2, (double)g.spy.sent[i][j], 1e-5 * (1 + fabs(mean)));
            }
    }
    rn_trainer_destroy(g.t);
    PASS();
}

/* who knows its own row only makes of it what agg_attack() makes without the last aggregate */
TEST own_rows_tell_no_aggregate(void) {
    stage g;
    stage_make(&g, 1, AGG_ATTACK_ROP);
    g.s.d.attack.knows = RN_KNOWS_OWN;
    ASSERT_EQ(RN_OK, stage_open(&g));
    for (int round = 0; round < 3; round++) {
        agg_attack_desc a = g.s.d.attack.vector;
        const rn_real *known[TEAM - 1];
        rn_real want[MOST_DIM];
        ASSERT_EQ(RN_OK, rn_trainer_run_round(g.t));
        for (size_t i = 0; i + 1 < TEAM; i++) known[i] = own_row(&g, TEAM - 1);
        a.n = TEAM;
        a.f = 1;
        a.scratch_size = agg_attack_scratch_size(&a, TEAM - 1, g.s.d.policy.dim);
        a.scratch = need(malloc(a.scratch_size + 1));
        ASSERT_EQ(AGG_OK, agg_attack(&a, known, TEAM - 1, g.s.d.policy.dim, known[0], want));
        ASSERT(same_bits(want, g.spy.sent[TEAM - 1], g.s.d.policy.dim));
        free(a.scratch);
    }
    rn_trainer_destroy(g.t);
    PASS();
}

/* three honest, two adversaries who know their own rows: the first stands for two */
TEST rows_stand_for_others(void) {
    stage g;
    walk walks[MOST_AGENTS];
    rn_env envs[MOST_AGENTS];
    stage_make(&g, 2, AGG_ATTACK_IPM);
    for (size_t i = 0; i < MOST_AGENTS; i++) envs[i] = walk_env(&walks[i], &g.s.m, 0);
    g.s.d.agents = MOST_AGENTS;
    g.s.d.envs = envs;
    g.s.d.attack.knows = RN_KNOWS_ADVERSARIES;
    ASSERT_EQ(RN_OK, stage_open(&g));
    for (int round = 0; round < 2; round++) {
        ASSERT_EQ(RN_OK, rn_trainer_run_round(g.t));
        for (size_t j = 0; j < g.s.d.policy.dim; j++) {
            const double a = (double)own_row(&g, 3)[j], b = (double)own_row(&g, 4)[j];
            ASSERT_IN_RANGE(-(2 * a + b) / 6, (double)g.spy.sent[3][j], 1e-5 * (1 + fabs(a)));
        }
    }
    rn_trainer_destroy(g.t);
    PASS();
}

/* a row that two share goes into each of theirs by its share */
TEST shared_rows_are_blended_once(void) {
    stage g, whole;
    stage_make(&g, 2, AGG_ATTACK_MIN_MAX);
    stage_make(&whole, 2, AGG_ATTACK_MIN_MAX);
    g.s.d.attack.ramp = 4;
    ASSERT_EQ(RN_OK, stage_open(&g));
    ASSERT_EQ(RN_OK, stage_open(&whole));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(g.t));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(whole.t));
    for (size_t i = 2; i < TEAM; i++)
        for (size_t j = 0; j < g.s.d.policy.dim; j++) {
            const double own = (double)own_row(&g, i)[j], full = (double)whole.spy.sent[i][j];
            const double want = own + (full - own) / 4;
            ASSERT_IN_RANGE(want, (double)g.spy.sent[i][j], 1e-6 * (fabs(own) + fabs(full)));
        }
    rn_trainer_destroy(g.t);
    rn_trainer_destroy(whole.t);
    PASS();
}

TEST poison_is_slow(void) {
    static const double share[6] = {0, 0, 1.0 / 3, 2.0 / 3, 1, 1};
    stage g;
    stage_make(&g, 1, AGG_ATTACK_SIGN_FLIP);
    g.s.d.attack.wait = 2;
    g.s.d.attack.ramp = 3;
    ASSERT_EQ(RN_OK, stage_open(&g));
    for (int round = 0; round < 6; round++) {
        const double k = share[round];
        ASSERT_EQ(RN_OK, rn_trainer_run_round(g.t));
        for (size_t j = 0; j < g.s.d.policy.dim; j++) {
            const double own = (double)own_row(&g, TEAM - 1)[j];
            const double flipped = (double)(rn_real)(-2.5 * own);
            const rn_real want = (rn_real)(k < 1 ? own + k * (flipped - own) : flipped);
            ASSERT_IN_RANGE((double)want, (double)g.spy.sent[TEAM - 1][j], 1e-6 * fabs(own));
            if (k <= 0) ASSERT(g.spy.sent[TEAM - 1][j] >= want && g.spy.sent[TEAM - 1][j] <= want);
        }
    }
    rn_trainer_destroy(g.t);
    PASS();
}

/* ---- an attack of the host's own */
typedef struct guest {
    size_t calls, refuse;
    int fine;
    rn_knowledge knows;
} guest;

static int guest_make(void *self, const rn_view *v, rn_real *row) {
    guest *g = (guest *)self;
    const size_t known = g->knows == RN_KNOWS_ALL ? 2 : g->knows == RN_KNOWS_ADVERSARIES ? 2 : 1;
    g->calls++;
    g->fine = g->fine && v->n == TEAM && v->f == 2 && v->count == known && v->agent >= 2 &&
              v->rule && v->rule->n == TEAM && v->rng.next && v->round == (g->calls + 1) / 2 &&
              (g->knows == RN_KNOWS_OWN ? !v->last : all_finite(v->last, v->dim)) &&
              all_finite(v->step, v->dim);
    if (g->knows == RN_KNOWS_OWN) g->fine = g->fine && v->rows[0] == v->own;
    for (size_t j = 0; j < v->dim; j++) row[j] = v->theta[j] + v->step[j];
    return v->agent != g->refuse;
}

TEST hosts_bring_their_own(rn_knowledge knows) {
    guest host = {0, 2, 1, knows};
    setup s;
    rn_trainer *t = NULL;
    setup_make(&s, PLAIN);
    s.d.adversaries = 2;
    s.d.attack.make = guest_make;
    s.d.attack.self = &host;
    s.d.attack.knows = knows;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    for (int round = 0; round < 4; round++) {
        ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
        ASSERT_EQ(1u, rn_trainer_progress(t)->dropped); /* agent 2 sent nothing */
    }
    ASSERT_EQ(8u, host.calls);
    ASSERT(host.fine);
    rn_trainer_destroy(t);
    PASS();
}

/* a rule that draws: each try of it is counted. The numbers repeat, so that tries are alike. */
static uint64_t counted_draw(void *self) {
    ++*(size_t *)self;
    return UINT64_C(0x8000000000000000);
}

static uint64_t other_draw(void *self) { return counted_draw(self); }

enum { ALIKE, RAMP, STRENGTH, N_GIVEN, F_GIVEN, TARGET, NEXT, SELF, RULE, DIRECTION, LAST, STEP };
enum { MEMORY = STEP + 1, SCRATCH, DISTANCE, KNOWS, KIND, OWN_SELF, CHANGES, WAIT, MADE };

/* an attack of the host's that sends nothing */
static int silent_attack(void *self, const rn_view *view, rn_real *row) {
    (void)self;
    (void)view;
    (void)row;
    return 0;
}

/* how the second attack differs, so that its row is made apart */
static void change_attack(rn_attack *a, int change, const stage *g, rn_real *numbers,
                          agg_desc *rule) {
    agg_attack_desc *v = &a->vector;
    *rule = g->rule;
    if (change == RAMP) a->ramp = 1; /* all of it in round 1 all the same */
    if (change == WAIT) a[-1].wait = 9;
    if (change == MADE) a[-1].make = silent_attack;
    if (change == KNOWS) a->knows = RN_KNOWS_ADVERSARIES;
    if (change == KIND) v->kind = AGG_ATTACK_LINE_SEARCH;
    if (change == OWN_SELF) a->self = numbers;
    if (change == STRENGTH) v->strength = 0.75;
    if (change == N_GIVEN) v->n = TEAM;
    if (change == F_GIVEN) v->f = 2;
    if (change == TARGET) v->target = 1;
    if (change == NEXT) v->rng.next = other_draw;
    if (change == SELF) v->rng.self = (size_t *)v->rng.self + 1;
    if (change == RULE) v->rule = rule;
    if (change == DIRECTION) v->direction = (agg_attack_direction)1;
    if (change == LAST) v->last = numbers;
    if (change == STEP) v->step = numbers;
    if (change == DISTANCE) v->by_distance = 1;
    if (change == MEMORY) v->memory = numbers;
    if (change == SCRATCH) v->scratch = numbers;
    if (change == MEMORY) v->memory_size = MOST_DIM * sizeof *numbers;
    if (change == SCRATCH) v->scratch_size = 100000 * sizeof *numbers;
}

/* draws of a round with two adversaries */
static size_t draws_of_two(int change, stage *g) {
    static rn_real numbers[100000];
    agg_desc rule;
    size_t draws[2] = {0, 0};
    rn_attack attacks[TEAM];
    stage_make(g, 2, AGG_ATTACK_OPT_COS);
    g->rule = agg_make_desc(AGG_CWMED, TEAM, g->s.d.policy.dim, 0);
    g->rule.pre[0] = AGG_PRE_BUCKETING;
    g->s.d.attack.vector.rng.next = counted_draw; /* which its tries of the rule have too */
    g->s.d.attack.vector.rng.self = draws;
    memset(attacks, 0, sizeof attacks);
    attacks[0].kind = attacks[1].kind = RN_ATTACK_NONE;
    attacks[2] = attacks[3] = g->s.d.attack;
    for (size_t i = 0; i < MOST_DIM; i++) numbers[i] = (rn_real)(i % 3);
    change_attack(&attacks[3], change, g, numbers, &rule);
    g->s.d.attacks = attacks;
    g->s.d.attack = attacks[0]; /* what they need is known from the list */
    if (stage_open(g) != RN_OK || rn_trainer_run_round(g->t) != RN_OK) abort();
    rn_trainer_destroy(g->t);
    return draws[0] + draws[1];
}

TEST equal_adversaries_share_a_row(void) {
    stage g;
    const size_t shared = draws_of_two(ALIKE, &g);
    rn_real want[MOST_DIM];
    memcpy(want, g.spy.sent[2], sizeof want);
    ASSERT(shared > 0);
    ASSERT(same_bits(want, g.spy.sent[3], g.s.d.policy.dim));
    ASSERT_EQ(2 * shared, draws_of_two(RAMP, &g));
    ASSERT(same_bits(want, g.spy.sent[2], g.s.d.policy.dim));
    ASSERT(same_bits(want, g.spy.sent[3], g.s.d.policy.dim));
    for (int change = STRENGTH; change < CHANGES; change++)
        ASSERT(draws_of_two(change, &g) > shared);
    ASSERT_EQ(shared, draws_of_two(WAIT, &g)); /* the first is honest as yet */
    ASSERT_EQ(shared, draws_of_two(MADE, &g)); /* the other alone */
    PASS();
}

/* memory without scratch: that is the host's; and room for the one is none for the other */
TEST mimics_with_scratch_of_the_host(void) {
    static rn_real room[100000];
    stage g;
    rn_attack mimic;
    stage_make(&g, 2, AGG_ATTACK_ONLINE_MIMIC);
    g.s.d.attack.vector.scratch = room;
    g.s.d.attack.vector.scratch_size = sizeof room;
    mimic = g.s.d.attack;
    ASSERT_EQ(RN_OK, stage_open(&g));
    for (int round = 0; round < 2; round++) ASSERT_EQ(RN_OK, rn_trainer_run_round(g.t));
    ASSERT(same_bits(g.spy.sent[2], g.spy.sent[3], g.s.d.policy.dim));
    rn_trainer_destroy(g.t);
    stage_make(&g, 2, AGG_ATTACK_OPT_COS);
    ASSERT_EQ(RN_OK, stage_open(&g));
    ASSERT_EQ(RN_ERR_DESC, rn_trainer_set_attack(g.t, 3, &mimic));
    rn_trainer_destroy(g.t);
    PASS();
}

/* a walk that may break off: its agent then sends nothing in that round */
typedef struct frail {
    walk walk;
    int broken;
} frail;

static rn_step_result frail_step(void *self, const rn_real *act, const agg_rng *r, rn_real *next,
                                 double *reward) {
    const rn_step_result result = walk_step(self, act, r, next, reward);
    if (((const frail *)self)->broken) *reward = (double)NAN;
    return result;
}

/* Two online mimics have one memory, which sees each round once: as one call of agg_attack() a round
   does, whoever of them makes it. With less known each has its own rows, and its own memory. */
TEST mimics_share_their_memory(rn_knowledge knows) {
    const size_t alone = knows == RN_KNOWS_OWN;
    size_t draws = 0, at[2] = {0, 0};
    agg_attack_desc a[2];
    stage g;
    frail first;
    stage_make(&g, 2, AGG_ATTACK_ONLINE_MIMIC);
    memset(&first, 0, sizeof first);
    g.s.envs[2] = walk_env(&first.walk, &g.s.m, 0);
    g.s.envs[2].step = frail_step;
    g.s.d.attack.knows = knows;
    g.s.d.attack.vector.rng.next = counted_draw;
    g.s.d.attack.vector.rng.self = &draws;
    for (size_t k = 0; k < 2; k++) {
        a[k] = g.s.d.attack.vector;
        a[k].rng.self = &at[k];
        a[k].n = TEAM;
        a[k].f = 2;
        a[k].memory_size = agg_attack_memory_size(&a[k], g.s.d.policy.dim);
        a[k].memory = need(calloc(1, a[k].memory_size));
        a[k].scratch_size = agg_attack_scratch_size(&a[k], 2, g.s.d.policy.dim);
        a[k].scratch = need(malloc(a[k].scratch_size + 1));
    }
    ASSERT_EQ(RN_OK, stage_open(&g));
    for (int round = 0; round < 6; round++) {
        first.broken = round == 3;
        ASSERT_EQ(RN_OK, rn_trainer_run_round(g.t));
        ASSERT_EQ(!first.broken, g.spy.came[2]);
        for (size_t k = alone && first.broken; k <= alone; k++) {
            const rn_real *known[2], *own = own_row(&g, 2 + k);
            rn_real want[MOST_DIM];
            known[0] = alone ? own : own_row(&g, 0);
            known[1] = alone ? own : own_row(&g, 1);
            ASSERT_EQ(AGG_OK, agg_attack(&a[k], known, 2, g.s.d.policy.dim, own, want));
            if (g.spy.came[2 + k]) ASSERT(same_bits(want, g.spy.sent[2 + k], g.s.d.policy.dim));
            if (!alone) ASSERT(same_bits(want, g.spy.sent[3], g.s.d.policy.dim));
        }
    }
    ASSERT_EQ(at[0] + at[1], draws);
    for (size_t k = 0; k < 2; k++) {
        free(a[k].memory);
        free(a[k].scratch);
    }
    rn_trainer_destroy(g.t);
    PASS();
}

/* ---- blind: theta and the adversaries' own rows are the same, those of the honest are not */
static agg_status deaf_rule(void *self, const rn_real *const *given, size_t n, size_t dim,
                            rn_real *out) {
    const agg_status s = spy_rule(self, given, n, dim, out);
    for (size_t j = 0; j < dim; j++) out[j] = (rn_real)(j % 2 ? 0.5 : -1);
    return s;
}

/* what agents 2 and 3 send in three rounds; the walk of agent `moved` is another */
static void rows_of_two(agg_attack_kind kind, rn_knowledge knows, size_t moved,
                        rn_real to[3][2][MOST_DIM]) {
    const mdp other = mdp_random(91);
    stage g;
    memset(to, 0, 6 * sizeof *to[0]);
    stage_make(&g, 2, kind);
    g.s.d.server.aggregate = deaf_rule;
    g.s.d.attack.knows = knows;
    if (moved < TEAM) g.s.walks[moved].m = &other;
    if (stage_open(&g) != RN_OK) abort();
    for (size_t round = 0; round < 3; round++) {
        if (rn_trainer_run_round(g.t) != RN_OK) abort();
        for (size_t i = 0; i < 2; i++)
            memcpy(to[round][i], g.spy.sent[2 + i], g.s.d.policy.dim * sizeof(rn_real));
    }
    rn_trainer_destroy(g.t);
}

TEST blind_is_blind(agg_attack_kind kind) {
    static rn_real sent[3][2][MOST_DIM], others[3][2][MOST_DIM];
    for (int knows = RN_KNOWS_ADVERSARIES; knows <= RN_KNOWS_OWN; knows++) {
        rows_of_two(kind, (rn_knowledge)knows, TEAM, sent);
        rows_of_two(kind, (rn_knowledge)knows, 0, others);
        ASSERT(memcmp(sent, others, sizeof sent) == 0);
    }
    PASS();
}

TEST knowing_is_seen(agg_attack_kind kind) {
    static rn_real sent[3][2][MOST_DIM], others[3][2][MOST_DIM];
    rows_of_two(kind, RN_KNOWS_ALL, TEAM, sent);
    rows_of_two(kind, RN_KNOWS_ALL, 0, others);
    ASSERT(memcmp(sent, others, sizeof sent) != 0);
    rows_of_two(kind, RN_KNOWS_ADVERSARIES, TEAM, sent);
    rows_of_two(kind, RN_KNOWS_ADVERSARIES, 3, others); /* agent 2 sees agent 3 */
    for (int round = 0; round < 3; round++)
        ASSERT(memcmp(sent[round][0], others[round][0], sizeof sent[0][0]) != 0);
    rows_of_two(kind, RN_KNOWS_OWN, TEAM, sent);
    rows_of_two(kind, RN_KNOWS_OWN, 3, others);
    for (int round = 0; round < 3; round++)
        ASSERT(memcmp(sent[round][0], others[round][0], sizeof sent[0][0]) == 0);
    PASS();
}

/* The server's pivot is an index among all agents, an attack has the rows of the honest ones: what
   it foresees of MoNNA's answer comes true wherever the adversary stands. */
TEST forecasts_come_true(size_t adversary, size_t pivot) {
    agg_attack_outcome foreseen;
    rn_attack attacks[TEAM];
    setup s;
    rn_trainer *t = NULL;
    setup_make(&s, PLAIN);
    memset(attacks, 0, sizeof attacks);
    for (size_t i = 0; i < TEAM; i++) attacks[i].kind = RN_ATTACK_NONE;
    attacks[adversary].kind = RN_ATTACK_VECTOR;
    attacks[adversary].vector.kind = AGG_ATTACK_WORST;
    attacks[adversary].vector.outcome = &foreseen;
    s.d.attacks = attacks;
    s.d.server.agg.rule = pivot < TEAM ? AGG_MONNA : AGG_CWTM; /* which reads none */
    s.d.server.agg.f = 1;
    s.d.server.agg.pivot = pivot;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    for (int round = 0; round < 10; round++) {
        ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
        ASSERT_IN_RANGE(foreseen.cosine, rn_trainer_progress(t)->cosine, 1e-4);
    }
    rn_trainer_destroy(t);
    PASS();
}

/* Of agents 0, 1 and 3 the row of 1 is missing: the pivot, 3, is the second of those that came. */
TEST missing_rows_move_the_pivot(void) {
    agg_attack_outcome foreseen, want;
    rn_attack attacks[TEAM];
    agg_attack_desc a;
    agg_desc rule;
    const rn_real *came[2], *own;
    rn_real row[MOST_DIM];
    setup s;
    rn_trainer *t = NULL;
    frail one;
    setup_make(&s, PLAIN);
    memset(attacks, 0, sizeof attacks);
    memset(&one, 0, sizeof one);
    s.envs[1] = walk_env(&one.walk, &s.m, 0);
    s.envs[1].step = frail_step;
    attacks[0].kind = attacks[1].kind = attacks[3].kind = RN_ATTACK_NONE;
    attacks[2].vector.kind = AGG_ATTACK_OPT_COS;
    attacks[2].vector.outcome = &foreseen;
    s.d.attacks = attacks;
    s.d.server.agg.rule = AGG_MONNA;
    s.d.server.agg.f = 1;
    s.d.server.agg.pivot = 3;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    one.broken = 1;
    (void)rn_trainer_run_round(t);
    came[0] = rn_agent_direction(rn_trainer_agent(t, 0));
    came[1] = rn_agent_direction(rn_trainer_agent(t, 3));
    own = rn_agent_direction(rn_trainer_agent(t, 2));
    rule = agg_make_desc(AGG_MONNA, TEAM, s.d.policy.dim, 1);
    rule.pivot = 1;
    memset(&a, 0, sizeof a);
    a.kind = AGG_ATTACK_OPT_COS;
    a.n = TEAM;
    a.f = 1;
    a.rule = &rule;
    a.outcome = &want;
    a.scratch_size = agg_attack_scratch_size(&a, 2, s.d.policy.dim);
    a.scratch = need(malloc(a.scratch_size));
    ASSERT_EQ(AGG_OK, agg_attack(&a, came, 2, s.d.policy.dim, own, row));
    ASSERT_IN_RANGE(want.cosine, foreseen.cosine, 1e-9);
    free(a.scratch);
    rn_trainer_destroy(t);
    PASS();
}

/* rounds in the memory of agent i, an online mimic's, which stands at the end of a saved state */
static double rounds_remembered(const rn_trainer *t, const setup *s, size_t i) {
    agg_attack_desc a;
    const bytes b = saved(t);
    double rounds_;
    memset(&a, 0, sizeof a);
    a.kind = AGG_ATTACK_ONLINE_MIMIC;
    memcpy(&rounds_, b.at + b.size - 8 - (TEAM - i) * agg_attack_memory_size(&a, s->d.policy.dim),
           sizeof rounds_);
    free(b.at);
    return rounds_;
}

/* agents 2 and 3 share a memory: it stays when 2 is healed, and when 1 joins them */
TEST memories_stay_with_those_who_share_them(void) {
    setup s;
    rn_trainer *t = NULL;
    rn_attack a;
    setup_make(&s, PLAIN);
    s.d.adversaries = 2;
    s.d.attack.vector.kind = AGG_ATTACK_ONLINE_MIMIC;
    a = s.d.attack;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    for (int round = 0; round < 3; round++) ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    ASSERT_EQ(3, (int)rounds_remembered(t, &s, 2));
    ASSERT_EQ(RN_OK, rn_trainer_set_attack(t, 2, NULL));
    ASSERT_EQ(0, (int)rounds_remembered(t, &s, 2));
    ASSERT_EQ(3, (int)rounds_remembered(t, &s, 3));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    ASSERT_EQ(4, (int)rounds_remembered(t, &s, 3));
    ASSERT_EQ(RN_OK, rn_trainer_set_attack(t, 1, &a));
    ASSERT_EQ(4, (int)rounds_remembered(t, &s, 1));
    (void)rn_trainer_run_round(t);
    ASSERT_EQ(5, (int)rounds_remembered(t, &s, 1));
    ASSERT_EQ(RN_OK, rn_trainer_set_attack(t, 3, NULL)); /* the first one keeps it */
    ASSERT_EQ(5, (int)rounds_remembered(t, &s, 1));
    a.knows = RN_KNOWS_OWN; /* who knows its own row alone shares nothing */
    ASSERT_EQ(RN_OK, rn_trainer_set_attack(t, 0, &a));
    ASSERT_EQ(0, (int)rounds_remembered(t, &s, 0));
    ASSERT_EQ(RN_OK, rn_trainer_set_attack(t, 1, NULL)); /* nobody is left to have it */
    for (size_t i = 0; i < TEAM; i++) ASSERT_EQ(0, (int)rounds_remembered(t, &s, i));
    rn_trainer_destroy(t);
    PASS();
}

/* ---- what attacks remember, in a saved state: the last numbers before its seal */
TEST forged_memories_are_refused(agg_attack_kind kind, size_t size, size_t count) {
    static const double forged[2] = {(double)NAN, (double)INFINITY};
    setup s;
    rn_trainer *t = NULL;
    bytes b, now;
    setup_make(&s, PLAIN);
    s.d.adversaries = 1;
    s.d.attack.vector.kind = kind;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    b = saved(t);
    for (size_t k = 1; k <= count * 2; k++) {
        unsigned char *at = b.at + b.size - 8 - (k + 1) / 2 * size;
        unsigned char kept[8];
        const float small = (float)forged[k % 2];
        memcpy(kept, at, size);
        if (size == sizeof(double))
            memcpy(at, &forged[k % 2], size);
        else
            memcpy(at, &small, size);
        reseal(b);
        ASSERT_EQ(RN_ERR_CORRUPT, rn_trainer_load(t, b.at, b.size));
        memcpy(at, kept, size);
        reseal(b);
        now = saved(t);
        ASSERT(same(now, b));
        free(now.at);
    }
    ASSERT_EQ(RN_OK, rn_trainer_load(t, b.at, b.size));
    free(b.at);
    rn_trainer_destroy(t);
    PASS();
}

static int rule_is_unknown(void *self, const rn_view *v, rn_real *row) {
    *(int *)self = v->rule == NULL;
    memcpy(row, v->own, v->dim * sizeof *row);
    return 1;
}

/* Kinds that try the rule need none where nothing is tried; what a list of attacks needs is the most
   of each of them. */
TEST needs_are_those_of_the_list(void) {
    rn_attack attacks[TEAM];
    stage g;
    int unknown = 0;
    stage_make(&g, 0, AGG_ATTACK_OPT_COS);
    memset(attacks, 0, sizeof attacks);
    attacks[0].kind = RN_ATTACK_SILENCE;
    attacks[0].vector.kind = attacks[1].vector.kind = AGG_ATTACK_WORST;
    attacks[1].make = rule_is_unknown;
    attacks[1].self = &unknown;
    attacks[2].vector.kind = AGG_ATTACK_ONLINE_MIMIC;
    attacks[3].kind = RN_ATTACK_NONE;
    g.s.d.attack = attacks[3];
    g.s.d.attacks = attacks;
    ASSERT_EQ(RN_OK, stage_open(&g));
    for (int round = 0; round < 3; round++) ASSERT_EQ(RN_OK, rn_trainer_run_round(g.t));
    ASSERT(unknown);
    ASSERT(!g.spy.came[0] && g.spy.came[1] && g.spy.came[2]);
    ASSERT(same_bits(own_row(&g, 3), g.spy.sent[2], g.s.d.policy.dim)); /* all there is to copy */
    rn_trainer_destroy(g.t);
    PASS();
}

/* ---- what is refused */
TEST descs_are_checked(void) {
    stage g;
    stage_make(&g, 1, AGG_ATTACK_OPT_COS);
    g.s.d.attack.vector.rule = NULL; /* nothing to try */
    ASSERT_EQ(RN_ERR_DESC, stage_open(&g));
    stage_make(&g, 1, AGG_ATTACK_SIGN_FLIP);
    g.s.d.attack.knows = (rn_knowledge)(RN_KNOWS_OWN + 1);
    ASSERT_EQ(RN_ERR_DESC, stage_open(&g));
    stage_make(&g, 1, AGG_ATTACK_SIGN_FLIP);
    g.s.d.attack.kind = (rn_attack_kind)(RN_ATTACK_REWARD_POISON + 1);
    ASSERT_EQ(RN_ERR_DESC, stage_open(&g));
    g.s.d.attack.kind = RN_ATTACK_REWARD_FLIP;
    g.s.d.attack.wait = 1;
    ASSERT_EQ(RN_ERR_DESC, stage_open(&g));
    g.s.d.attack.wait = 0;
    g.s.d.attack.kind = RN_ATTACK_REWARD_POISON;
    g.s.d.attack.vector.strength = -1;
    ASSERT_EQ(RN_ERR_DESC, stage_open(&g));
    PASS();
}

/* what agg_attack() would refuse in every round: nobody would attack, and nobody would know */
TEST attacks_that_never_come_are_refused(void) {
    rn_attack a;
    stage g;
    stage_make(&g, 1, AGG_ATTACK_MIMIC);
    g.s.d.attack.vector.target = 3;
    ASSERT_EQ(RN_ERR_DESC, stage_open(&g));
    g.s.d.attack.vector.target = 2;
    ASSERT_EQ(RN_OK, stage_open(&g));
    a = g.s.d.attack;
    a.vector.target = TEAM;
    ASSERT_EQ(RN_ERR_DESC, rn_trainer_set_attack(g.t, 0, &a));
    a.vector.target = 1;
    ASSERT_EQ(RN_OK, rn_trainer_set_attack(g.t, 0, &a));
    rn_trainer_destroy(g.t);
    PASS();
}

TEST attacks_are_set_where_there_is_room(void) {
    static const agg_attack_kind large[] = {AGG_ATTACK_MIN_MAX, AGG_ATTACK_ONLINE_MIMIC,
                                            AGG_ATTACK_BLIND_IPM};
    for (size_t k = 0; k < sizeof large / sizeof *large; k++)
        for (int room = 0; room < 2; room++) {
            rn_attack a;
            rn_trainer *t = NULL;
            setup s;
            setup_make(&s, PLAIN);
            memset(&a, 0, sizeof a);
            a.vector.kind = large[k];
            if (room) s.d.attack = a;
            ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
            ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
            ASSERT_EQ(room ? RN_OK : RN_ERR_DESC, rn_trainer_set_attack(t, 1, &a));
            ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
            ASSERT_EQ(0u, rn_trainer_progress(t)->dropped);
            rn_trainer_destroy(t);
        }
    PASS();
}

/* ---- reward poisoning: g is linear in the rewards, so brute force has all there is to know */
enum { STEPS = 4 };

typedef struct line {
    size_t at;
    int still; /* in state 0 */
    double bump[STEPS];
} line;

static void line_reset(void *self, const agg_rng *r, rn_real *obs) {
    line *l = (line *)self;
    l->at = 0;
    obs[0] = (rn_real)rn_draw_below(r, l->still ? 1 : 3);
}

static rn_step_result line_step(void *self, const rn_real *act, const agg_rng *r, rn_real *next,
                                double *reward) {
    line *l = (line *)self;
    *reward = 0.5 * (double)act[0] + l->bump[l->at % STEPS];
    l->at++;
    next[0] = (rn_real)rn_draw_below(r, l->still ? 1 : 3);
    return RN_RUNNING;
}

/* g . u in the second round, and d, if asked for; still: u is in states that are not seen */
static double poison_run(const rn_policy *p, const rn_method *m, double eps, const double *bump,
                         int still, rn_real *direction) {
    line l;
    rn_env e;
    rn_agent_desc d;
    rn_agent *a = NULL;
    rn_real theta[6], u[6];
    double dot = 0;
    size_t size;
    void *block;
    memset(&l, 0, sizeof l);
    memset(&e, 0, sizeof e);
    memset(&d, 0, sizeof d);
    if (bump) memcpy(l.bump, bump, sizeof l.bump);
    l.still = still;
    e.self = &l;
    e.obs_dim = e.act_dim = 1;
    e.actions = 2;
    e.reset = line_reset;
    e.step = line_step;
    d.env = e;
    d.policy = *p;
    d.method = *m;
    d.seed = 3;
    d.poison = eps;
    size = rn_agent_size(&d);
    block = need(malloc(size));
    if (rn_agent_init(&a, &d, block, size) != RN_OK) abort();
    for (size_t j = 0; j < 6; j++) theta[j] = (rn_real)(0.1 * (double)j);
    if (rn_agent_run_round(a, theta, 1) != RN_OK) abort();
    for (size_t j = 0; j < 6; j++) {
        u[j] = (rn_real)(still && j < 2 ? 0 : j % 2 ? 0.25 : -0.125 * (double)j);
        theta[j] += u[j];
    }
    if (rn_agent_run_round(a, theta, 1) != RN_OK) abort();
    for (size_t j = 0; j < 6; j++) dot += (double)rn_agent_direction(a)[j] * (double)u[j];
    if (direction) memcpy(direction, rn_agent_direction(a), 6 * sizeof *direction);
    free(block);
    return dot;
}

static double poisoned(const rn_policy *p, const rn_method *m, double eps, const double *bump) {
    return poison_run(p, m, eps, bump, 0, NULL);
}

TEST poison_is_the_least(int flat, int reinforce, int no_dot) {
    const double eps = 0.75;
    rn_table table;
    rn_policy p = rn_make_table_policy(&table, 3, 2);
    rn_method m;
    double honest, k[STEPS], square = 0, got;
    rng r = rng_make(3);
    memset(&m, 0, sizeof m);
    m.horizon = STEPS;
    m.discount = 0.8;
    m.flat = flat;
    m.estimator = reinforce ? RN_REINFORCE : RN_GPOMDP;
    if (no_dot) p.dot = NULL;
    honest = poisoned(&p, &m, 0, NULL);
    for (size_t h = 0; h < STEPS; h++) {
        double bump[STEPS] = {0};
        bump[h] = 1;
        k[h] = poisoned(&p, &m, 0, bump) - honest;
        square += k[h] * k[h];
    }
    got = poisoned(&p, &m, eps, NULL);
    ASSERT(square > 1e-6);
    ASSERT_IN_RANGE(honest - eps * sqrt(STEPS * square), got, 1e-5);
    for (int times = 0; times < 50; times++) { /* others of the same mean square do less */
        double bump[STEPS], sum = 0;
        for (size_t h = 0; h < STEPS; h++) {
            bump[h] = rng_normal(&r);
            sum += bump[h] * bump[h];
        }
        for (size_t h = 0; h < STEPS; h++) bump[h] *= eps * sqrt(STEPS / sum);
        ASSERT(poisoned(&p, &m, 0, bump) > got - 1e-5);
    }
    PASS();
}

/* u where nothing was seen: k = 0, and 0/0 is not added */
TEST poison_needs_a_score(int flat) {
    rn_table table;
    rn_policy p = rn_make_table_policy(&table, 3, 2);
    rn_method m;
    rn_real honest[6], same[6];
    memset(&m, 0, sizeof m);
    m.horizon = STEPS;
    m.discount = 0.8;
    m.flat = flat;
    (void)poison_run(&p, &m, 0, NULL, 1, honest);
    (void)poison_run(&p, &m, 1, NULL, 1, same);
    ASSERT(same_bits(honest, same, 6));
    ASSERT(honest[0] < 0 || honest[0] > 0);
    m.horizon = 1; /* one step with a score: all of eps goes there */
    ASSERT(isfinite(poisoned(&p, &m, 1, NULL)));
    PASS();
}

SUITE(attacks) {
    static const agg_attack_kind plain[] = {
        AGG_ATTACK_SIGN_FLIP,  AGG_ATTACK_IPM,         AGG_ATTACK_ALIE,     AGG_ATTACK_LINE_SEARCH,
        AGG_ATTACK_OPT_COS,    AGG_ATTACK_MIN_MAX,     AGG_ATTACK_MIN_SUM,  AGG_ATTACK_FANG_KRUM,
        AGG_ATTACK_NORMALISED, AGG_ATTACK_MDA_FOOLING, AGG_ATTACK_AVG_ZERO, AGG_ATTACK_ROP,
        AGG_ATTACK_ANTI_CGE};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        RUN_TESTp(rows_are_those_of_agg_attack, plain[i]);
    for (int k = 0; k < AGG_ATTACK_COUNT; k++)
        for (int knows = 0; knows <= RN_KNOWS_OWN; knows++)
            RUN_TESTp(every_kind_plays, (agg_attack_kind)k, (rn_knowledge)knows);
    for (int knows = 0; knows <= RN_KNOWS_OWN; knows++) {
        RUN_TESTp(knowledge_is_what_it_says, (rn_knowledge)knows);
        RUN_TESTp(hosts_bring_their_own, (rn_knowledge)knows);
    }
    RUN_TEST(own_rows_tell_no_aggregate);
    RUN_TEST(rows_stand_for_others);
    RUN_TEST(shared_rows_are_blended_once);
    RUN_TEST(mimics_with_scratch_of_the_host);
    RUN_TEST(poison_is_slow);
    RUN_TEST(equal_adversaries_share_a_row);
    RUN_TESTp(mimics_share_their_memory, RN_KNOWS_ALL);
    RUN_TESTp(mimics_share_their_memory, RN_KNOWS_OWN);
    for (int k = 0; k < AGG_ATTACK_COUNT; k++) RUN_TESTp(blind_is_blind, (agg_attack_kind)k);
    RUN_TESTp(knowing_is_seen, AGG_ATTACK_IPM);
    RUN_TESTp(knowing_is_seen, AGG_ATTACK_MIN_MAX);
    RUN_TESTp(knowing_is_seen, AGG_ATTACK_OPT_COS);
    RUN_TESTp(forged_memories_are_refused, AGG_ATTACK_ONLINE_MIMIC, sizeof(double), 20);
    RUN_TESTp(forged_memories_are_refused, AGG_ATTACK_BLIND_IPM, sizeof(rn_real), 12);
    RUN_TEST(needs_are_those_of_the_list);
    for (size_t pivot = 0; pivot < TEAM; pivot++) {
        if (pivot != 0) RUN_TESTp(forecasts_come_true, 0, pivot);
        if (pivot != 2) RUN_TESTp(forecasts_come_true, 2, pivot);
    }
    RUN_TESTp(forecasts_come_true, 0, 99);
    RUN_TEST(missing_rows_move_the_pivot);
    RUN_TEST(memories_stay_with_those_who_share_them);
    RUN_TEST(attacks_that_never_come_are_refused);
    RUN_TEST(descs_are_checked);
    RUN_TEST(attacks_are_set_where_there_is_room);
}

SUITE(poison) {
    for (int no_dot = 0; no_dot < 2; no_dot++) {
        RUN_TESTp(poison_is_the_least, 0, 0, no_dot);
        RUN_TESTp(poison_is_the_least, 1, 0, no_dot);
        RUN_TESTp(poison_is_the_least, 0, 1, no_dot);
    }
    RUN_TESTp(poison_needs_a_score, 0);
    RUN_TESTp(poison_needs_a_score, 1);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(attacks);
    RUN_SUITE(poison);
    GREATEST_MAIN_END();
}
