/* The end of a round in pieces: the bits, the progress and the saved bytes of one that is made whole,
   whatever the rule, the attack and the budget, saved and loaded after any piece; and is it pieces? */
#include "implementation.h"
#include "resnharpg.h"
#include "greatest.h"
#include "common.h"

enum {
    N = 10,
    MOST = 20,
    F = 3,
    ROUNDS = 3,
    UNITS = 40,
    HORIZON = 6
}; /* theta: some windows and a rest */

/* ---- a task: one step left or right, to the middle */
static void place_reset(void *self, const agg_rng *r, rn_real *obs) {
    double *x = (double *)self;
    *x = 2 * rn_draw_uniform(r) - 1;
    obs[0] = (rn_real)*x;
}

static rn_step_result place_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                 double *reward) {
    double *x = (double *)self;
    (void)r;
    *x += act[0] > 0 ? 0.1 : -0.1;
    obs[0] = (rn_real)*x;
    *reward = -*x * *x;
    return RN_RUNNING;
}

static void place_save(const void *self, void *to) { memcpy(to, self, sizeof(double)); }

static int place_load(void *self, const void *from) {
    memcpy(self, from, sizeof(double));
    return 1;
}

/* ---- what a round's end can be made of */
typedef struct world {
    double place[MOST];
    rn_env envs[MOST];
    rn_attack attacks[MOST];
    rn_net net;
    agg_desc rule; /* an attack's own */
    rng dice;      /* the same */
    double memory[4096];
    rn_real *trusted; /* FLTrust's row */
    rn_trainer_desc d;
} world;

static int made; /* rows, by the attack of the host's own */

static int make_row(void *self, const rn_view *v, rn_real *row) {
    (void)self;
    made++;
    for (size_t i = 0; i < v->dim; i++) row[i] = -v->own[i];
    return v->agent != N - 1;
}

static agg_status first_row(void *self, const rn_real *const *row, size_t n, size_t dim,
                            rn_real *out) {
    (void)self;
    (void)n;
    memcpy(out, row[0], dim * sizeof *out);
    return AGG_OK;
}

static double gone(void *self, size_t t) {
    (void)self;
    return t == 2 ? (double)NAN : 0.1;
}

static void sign_flip(world *w) { (void)w; }
static void no_attack(world *w) { w->d.adversaries = 0; }

static void slow_alie(world *w) {
    w->d.attack.vector.kind = AGG_ATTACK_ALIE;
    w->d.attack.wait = 1;
    w->d.attack.ramp = 2;
}

static void noise(world *w) { w->d.attack.vector.kind = AGG_ATTACK_NOISE; }
static void mimic(world *w) { w->d.attack.vector.kind = AGG_ATTACK_ONLINE_MIMIC; }
static void own_attack(world *w) { w->d.attack.make = make_row; }

static void own_memory(world *w) {
    mimic(w);
    w->d.attack.vector.memory = w->memory;
    w->d.attack.vector.memory_size = sizeof w->memory;
}

static void own_dice(world *w) {
    w->d.attack.vector.kind = AGG_ATTACK_LARGE_NOISE;
    w->d.attack.vector.rng = rng_for_library(&w->dice);
}

static void own_rule(world *w) {
    w->rule = agg_make_desc(AGG_CWMED, N, w->d.policy.dim, F);
    w->d.attack.vector.kind = AGG_ATTACK_LINE_SEARCH;
    w->d.attack.vector.rule = &w->rule;
}

static void blind(world *w) { w->d.attack.vector.kind = AGG_ATTACK_BLIND_IPM; }
static void bad_rows(world *w) { w->d.attack.vector.kind = AGG_ATTACK_NAN; }
static void silence(world *w) { w->d.attack.kind = RN_ATTACK_SILENCE; }

static void too_many(world *w) {
    bad_rows(w);
    w->d.adversaries = F + 1;
}

/* each another one: silent, random noise, NaN, honest ... */
static void motley(world *w) {
    for (size_t i = N - F; i < N; i++) w->attacks[i] = w->d.attack;
    w->attacks[N - 3].kind = RN_ATTACK_SILENCE;
    w->attacks[N - 2].vector.kind = AGG_ATTACK_IPM;
    w->attacks[N - 1].vector.kind = AGG_ATTACK_INF;
    w->attacks[N - 1].wait = 2;
    w->d.attacks = w->attacks;
}

static void no_gamma(world *w) {
    w->d.server.gamma.kind = RN_SCHEDULE_CALLBACK;
    w->d.server.gamma.at = gone;
}

static void watched(world *w) { w->d.server.watch = RN_WATCH_NEWS; }
static void crowd(world *w) { /* more than a piece of the watch looks at */
    watched(w);
    w->d.agents = MOST;
}

static void short_search(world *w) { w->d.server.agg.budget = 1; }

static void watched_bad(world *w) {
    watched(w);
    bad_rows(w);
}

static void watched_many(world *w) {
    watched(w);
    too_many(w);
}

static void own_aggregate(world *w) { w->d.server.aggregate = first_row; }

static void adam(world *w) {
    w->d.server.update = RN_UPDATE_ADAM;
    w->d.server.gamma = rn_schedule_constant(0.01);
}

static void too_far(world *w) { /* for theta: it is not finite */
    w->d.server.update = RN_UPDATE_PLAIN;
    w->d.server.soft = 0;
    w->d.server.gamma = rn_schedule_constant(sizeof(rn_real) > 4 ? 1e308 : 1e300);
}

static void by_kl(world *w) {
    w->d.server.kl = 0.002;
    w->d.server.gamma = rn_schedule_constant(1);
}

static void bad_trust(world *w) { /* the host's row goes bad between rounds: see rounds_of() */
    w->d.server.agg.trusted = w->trusted;
}

static void twice_nnm(world *w) { w->d.server.agg.pre[0] = w->d.server.agg.pre[1] = AGG_PRE_NNM; }
static void bucketing(world *w) {
    w->d.server.agg.pre[1] = AGG_PRE_BUCKETING;
    w->d.server.agg.f = w->d.adversaries = 2;
}

typedef struct ending {
    const char *name;
    agg_rule rule;
    void (*change)(world *w);
    int divides; /* into pieces */
} ending;

static const ending endings[] = {
    {"CWTM, sign flipping", AGG_CWTM, sign_flip, 1},
    {"MDA behind NNM twice", AGG_MDA, twice_nnm, 1},
    {"GM, nobody attacks", AGG_GM, no_attack, 1},
    {"mean, ALIE growing", AGG_MEAN, slow_alie, 1},
    {"Krum, noise", AGG_KRUM, noise, 0},
    {"CAF, online mimic", AGG_CAF, mimic, 0},
    {"MeaMed, blind", AGG_MEAMED, blind, 1},
    {"CWMed, an attack of the host's", AGG_CWMED, own_attack, 0},
    {"CWTM, memory of the host's", AGG_CWTM, own_memory, 0},
    {"CWTM, dice of the host's", AGG_CWTM, own_dice, 0},
    {"CWTM, a rule of the host's", AGG_CWTM, own_rule, 0},
    {"CWTM, NaN", AGG_CWTM, bad_rows, 1},
    {"Bulyan's kin: Multi-Krum, silence", AGG_MULTI_KRUM, silence, 1},
    {"CWTM, too many NaN", AGG_CWTM, too_many, 1},
    {"CWTM, each another attack", AGG_CWTM, motley, 1},
    {"CWTM, gamma is no number once", AGG_CWTM, no_gamma, 1},
    {"CWTM, steps too long", AGG_CWTM, too_far, 1},
    {"CWTM, watched", AGG_CWTM, watched, 1},
    {"CWTM, twenty are watched", AGG_CWTM, crowd, 1},
    {"MDA, a search cut short", AGG_MDA, short_search, 1},
    {"CWTM, watched, NaN", AGG_CWTM, watched_bad, 1},
    {"CWTM, watched, too many NaN", AGG_CWTM, watched_many, 1},
    {"a rule of the host's", AGG_MEAN, own_aggregate, 0},
    {"CGE, Adam", AGG_CGE, adam, 1},
    {"SMEA, by KL", AGG_SMEA, by_kl, 1},
    {"FLTrust, a row that goes bad", AGG_FLTRUST, bad_trust, 1},
    {"DnC", AGG_DNC, sign_flip, 0},
    {"CWTM behind bucketing", AGG_CWTM, bucketing, 0},
};
enum { ENDINGS = sizeof endings / sizeof *endings };

static void world_make(world *w, const ending *e) {
    rn_net_desc shape = rn_make_net_desc(1, 2);
    shape.hidden[0] = shape.hidden[1] = UNITS;
    memset(w, 0, sizeof *w);
    for (size_t i = 0; i < MOST; i++) {
        w->envs[i].self = &w->place[i];
        w->envs[i].reset = place_reset;
        w->envs[i].step = place_step;
        w->envs[i].obs_dim = w->envs[i].act_dim = 1;
        w->envs[i].actions = 2;
        w->envs[i].state_size = sizeof(double);
        w->envs[i].save = place_save;
        w->envs[i].load = place_load;
        w->attacks[i].kind = RN_ATTACK_NONE;
    }
    w->dice = rng_make(5);
    w->d = rn_make_trainer_desc(N, F, w->envs, rn_make_net_policy(&w->net, &shape));
    w->trusted = (rn_real *)need(malloc(w->d.policy.dim * sizeof *w->trusted));
    for (size_t i = 0; i < w->d.policy.dim; i++) w->trusted[i] = 1;
    w->d.method.horizon = HORIZON;
    w->d.method.batch = 1;
    w->d.adversaries = F;
    w->d.server.agg.rule = e->rule;
    e->change(w);
}

/* ---- what is to be the same */
typedef struct memo {
    rn_status status[ROUNDS];
    rn_progress progress[ROUNDS];
    double weight[ROUNDS][MOST], suspicion[ROUNDS][MOST];
    unsigned char *saved[ROUNDS]; /* after each round */
    size_t size;
} memo;

static void memo_add(memo *m, size_t round, rn_trainer *t, rn_status status) {
    const rn_progress *p = rn_trainer_progress(t);
    m->status[round] = status;
    m->progress[round] = *p;
    m->progress[round].weight = m->progress[round].suspicion = NULL;
    m->progress[round].evidence = NULL; /* it is among the saved bytes */
    m->progress[round].theta = NULL;
    if (p->weight) memcpy(m->weight[round], p->weight, p->n * sizeof(double));
    if (p->suspicion) memcpy(m->suspicion[round], p->suspicion, p->n * sizeof(double));
    m->size = rn_trainer_save_size(t);
    m->saved[round] = (unsigned char *)need(malloc(m->size));
    if (rn_trainer_save(t, m->saved[round], m->size) != RN_OK) abort();
}

static void memo_free(memo *m) {
    for (size_t i = 0; i < ROUNDS; i++) free(m->saved[i]);
}

static int same_progress(const rn_progress *p, const rn_progress *q) {
    return p->round == q->round && p->trajectories == q->trajectories &&
           p->env_steps == q->env_steps && p->dropped == q->dropped && p->late == q->late &&
           p->aggregate == q->aggregate && p->status == q->status && p->still == q->still &&
           !memcmp(&p->mean_return, &q->mean_return, sizeof(double)) &&
           !memcmp(&p->norm, &q->norm, sizeof(double)) &&
           !memcmp(&p->gamma, &q->gamma, sizeof(double)) &&
           !memcmp(&p->cosine, &q->cosine, sizeof(double));
}

static const char *memo_differs(const memo *a, const memo *b) {
    for (size_t i = 0; i < ROUNDS; i++) {
        if (a->status[i] != b->status[i]) return "status";
        if (a->status[i] != RN_OK && a->progress[i].cosine > -2) return "cosine of no update";
        if (!same_progress(&a->progress[i], &b->progress[i])) return "progress";
        if (memcmp(a->weight[i], b->weight[i], sizeof a->weight[i])) return "weight";
        if (memcmp(a->suspicion[i], b->suspicion[i], sizeof a->suspicion[i])) return "suspicion";
        if (a->size != b->size || memcmp(a->saved[i], b->saved[i], a->size)) return "saved bytes";
    }
    return NULL;
}

/* ---- a run: ticks of a budget; saved and loaded into another trainer after every so many */
static void spoil(world *w, size_t round) { w->trusted[1] = round == 1 ? (rn_real)NAN : 1; }

static rn_trainer *moved(rn_trainer *t, world *w) {
    const size_t size = rn_trainer_save_size(t);
    unsigned char *bytes = (unsigned char *)need(malloc(size));
    rn_trainer *other;
    if (rn_trainer_save(t, bytes, size) != RN_OK) abort();
    rn_trainer_destroy(t);
    if (rn_trainer_create(&other, &w->d) != RN_OK) abort();
    if (rn_trainer_load(other, bytes, size) != RN_OK) abort();
    free(bytes);
    return other;
}

/* nobody plays any more: the round ends */
static int all_played(rn_trainer *t) {
    size_t playing = 0;
    for (size_t i = 0; rn_trainer_agent(t, i); i++)
        playing += rn_trainer_agent_status(t, i) == RN_MORE;
    return !playing;
}

/* what is saved, to be freed; NULL in `before`, or the same bytes */
static unsigned char *unchanged(const rn_trainer *t, unsigned char *before) {
    const size_t size = rn_trainer_save_size(t);
    unsigned char *bytes = (unsigned char *)need(malloc(size));
    if (rn_trainer_save(t, bytes, size) != RN_OK) abort();
    if (before && memcmp(bytes, before, size)) abort(); /* a piece changed something */
    free(before);
    return bytes;
}

/* Returns how many ticks were of pieces that did not end a round. */
static size_t rounds_of(const ending *e, size_t budget, size_t every, memo *m) {
    static world w;
    unsigned char *bytes = NULL;
    size_t pieces = 0, tick = 0;
    rn_trainer *t;
    world_make(&w, e);
    if (rn_trainer_create(&t, &w.d) != RN_OK) abort();
    for (size_t round = 0; round < ROUNDS;) {
        rn_status s;
        spoil(&w, round);
        s = rn_trainer_tick(t, budget, NULL);
        if (s != RN_MORE) {
            memo_add(m, round++, t, s);
            free(bytes);
            bytes = NULL;
        } else if (all_played(t)) {
            pieces += bytes != NULL; /* the first tick only played */
            bytes = unchanged(t, bytes);
        }
        if (every && (++tick % 16 == 0 || (bytes && tick % every == 0))) t = moved(t, &w);
    }
    free(bytes);
    free(w.trusted);
    rn_trainer_destroy(t);
    return pieces;
}

TEST whole_or_in_pieces(const void *arg) {
    static const size_t budgets[] = {20, 150, 500};
    const ending *e = (const ending *)arg;
    memo want, got;
    const char *bad = NULL;
    memset(&want, 0, sizeof want);
    (void)rounds_of(e, (size_t)-1, 0, &want);
    for (size_t b = 0; b < 3 && !bad; b++) {
        size_t pieces;
        memset(&got, 0, sizeof got);
        pieces = rounds_of(e, budgets[b], 0, &got);
        bad = memo_differs(&want, &got);
        if (b == 0 && !bad && (pieces > 6 * ROUNDS) != e->divides) bad = "too few";
        if (bad)
            bad = WHY("%s, budget %u, %u pieces: %s", e->name, (unsigned)budgets[b],
                      (unsigned)pieces, bad);
        memo_free(&got);
    }
    memo_free(&want);
    if (bad) FAILm(bad);
    PASS();
}

/* What a load does to the dice of an attack of the host's nobody can know. */
TEST saved_between_pieces(const void *arg) {
    const ending *e = (const ending *)arg;
    memo want, got;
    const char *bad = NULL;
    memset(&want, 0, sizeof want);
    (void)rounds_of(e, (size_t)-1, 0, &want);
    for (size_t every = 1; every <= 4 && !bad; every += 3) {
        memset(&got, 0, sizeof got);
        (void)rounds_of(e, 40, every, &got);
        bad = memo_differs(&want, &got);
        if (bad) bad = WHY("%s, moved after each %u ticks: %s", e->name, (unsigned)every, bad);
        memo_free(&got);
    }
    memo_free(&want);
    if (bad) FAILm(bad);
    PASS();
}

/* an attack of the host's is asked once for each row of a round */
TEST hosts_are_asked_once(void) {
    memo m;
    memset(&m, 0, sizeof m);
    made = 0;
    (void)rounds_of(&endings[7], 20, 0, &m);
    ASSERT_EQ(ROUNDS * F, made);
    memo_free(&m);
    PASS();
}

/* ---- what the end of a round counts */

/* Plays with ticks of 20. The end does not begin in the tick in which the last agents have played,
   unless all of it fits. */
static rn_trainer *played(world *w, void (*change)(world *w)) {
    const ending e = {"", AGG_CWTM, change, 1};
    rn_trainer *t;
    world_make(w, &e);
    if (rn_trainer_create(&t, &w->d) != RN_OK) abort();
    if (rn_trainer_run_round(t) != RN_OK) abort(); /* there are news from the second on */
    do {
        if (rn_trainer_tick(t, 20, NULL) != RN_MORE) abort();
    } while (!all_played(t));
    return t;
}

static size_t used_of(void (*change)(world *w), size_t budget) {
    static world w;
    rn_trainer *t = played(&w, change);
    size_t used = 0;
    if (rn_trainer_tick(t, budget, &used) != RN_OK) used = 0;
    rn_trainer_destroy(t);
    free(w.trusted);
    return used;
}

static size_t ticks_of(void (*change)(world *w), size_t budget) {
    static world w;
    rn_trainer *t = played(&w, change);
    size_t ticks = 1;
    while (rn_trainer_tick(t, budget, NULL) == RN_MORE) ticks++;
    rn_trainer_destroy(t);
    free(w.trusted);
    return ticks;
}

/* 2 N^2 + 64 N whole, two and a half times that if it is watched; what cannot be divided takes all
   of a smaller budget */
TEST the_end_counts(void) {
    const size_t end = 2 * N * N + 64 * N;
    ASSERT_EQ(end, used_of(sign_flip, 100000));
    ASSERT_EQ(end, used_of(noise, 100000));
    ASSERT_EQ(5 * end / 2, used_of(watched, 100000));
    ASSERT_EQ(end - 40, used_of(noise, end - 40));
    ASSERT_EQ(0u, used_of(sign_flip, 200)); /* it is not over */
    PASS();
}

/* Two pieces fit into a tick of 110, but only one of the watch: 10 news, 4 windows of the median, 45
   pairs in 3, 10 scores, 10 marks. The update shares a tick, unless it comes after those. */
TEST the_watch_counts(void) {
    ASSERT_EQ(11u, ticks_of(watched, 110) - ticks_of(sign_flip, 110));
    ASSERT(ticks_of(watched, 200) < ticks_of(watched, 110));
    PASS();
}

/* a server without a trainer */
TEST no_gamma_no_update(void) {
    static const rn_real row[2] = {3, 4}, *sent[3] = {row, row, row};
    unsigned char memory[4096];
    rn_server *server = NULL;
    rn_progress p;
    rn_server_desc d;
    memset(&d, 0, sizeof d);
    d.n = 3;
    d.dim = 2;
    d.eta = rn_schedule_constant(0.5);
    d.gamma.kind = RN_SCHEDULE_CALLBACK;
    d.gamma.at = gone;
    ASSERT(rn_server_size(&d) <= sizeof memory);
    ASSERT_EQ(RN_OK, rn_server_init(&server, &d, memory, sizeof memory));
    ASSERT_EQ(RN_OK, rn_server_update(server, sent, NULL));
    ASSERT_EQ(RN_ERR_THETA, rn_server_update(server, sent, &p));
    ASSERT(p.status == RN_ERR_THETA && p.still == 1 && p.round == 2);
    ASSERT_EQ(2u, rn_server_current_round(server));
    PASS();
}

SUITE(ends) {
    for (size_t i = 0; i < ENDINGS; i++) {
        RUN_TEST1(whole_or_in_pieces, &endings[i]);
        RUN_TEST1(saved_between_pieces, &endings[i]);
    }
    RUN_TEST(hosts_are_asked_once);
    RUN_TEST(the_end_counts);
    RUN_TEST(the_watch_counts);
    RUN_TEST(no_gamma_no_update);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(ends);
    GREATEST_MAIN_END();
}
