/* Who lies? server.watch against a plain copy of what WATCHING says, the chance of a false alarm by
   counting all orders of the honest, and what an enemy may write into a saved state. */
#include "implementation.h"
#include "resnharpg.h"
#include "greatest.h"
#include "common.h"
#include "tiny.h"
#include "saved.h"

enum { DIM = 3, MOST = 8, SCORES = 4, BETS = 3, STAKES = 1 + SCORES * BETS };

typedef struct watched {
    rn_server_desc d;
    rn_server *s;
    void *block;
} watched;

static rn_server_desc watch_desc(size_t n, size_t f, rn_watch watch) {
    rn_server_desc d;
    memset(&d, 0, sizeof d);
    d.n = n;
    d.dim = DIM;
    d.agg = agg_make_desc(AGG_CWMED, n, DIM, f);
    d.eta = rn_schedule_linear(0.5, 0.2, 5);
    d.gamma = rn_schedule_constant(0.1);
    d.watch = watch;
    return d;
}

static watched watched_make(rn_server_desc d) {
    watched w;
    const size_t size = rn_server_size(&d);
    w.d = d;
    w.s = NULL;
    w.block = need(malloc(size));
    if (rn_server_init(&w.s, &d, w.block, size) != RN_OK) abort();
    return w;
}

static void watched_free(watched *w) { free(w->block); }

/* ---- the definition again, plain */
typedef struct plain {
    size_t n, f;
    double slack;
    int known[MOST];
    agg_real last[MOST][DIM], d[DIM];
    long double evidence[MOST], stake[MOST][STAKES];
} plain;

static plain plain_make(size_t n, size_t f) {
    plain p;
    memset(&p, 0, sizeof p);
    p.n = n;
    p.f = f;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < STAKES; j++) p.stake[i][j] = 1.0L / STAKES;
    return p;
}

static int ascending(const void *a, const void *b) {
    const agg_real x = *(const agg_real *)a, y = *(const agg_real *)b;
    return (x > y) - (x < y);
}

/* in double: equals must be equal */
static double gap_of(const agg_real *x, const agg_real *y) {
    double sum = 0;
    for (size_t j = 0; j < DIM; j++)
        sum += ((double)x[j] - (double)y[j]) * ((double)x[j] - (double)y[j]);
    return sum;
}

/* state: 0 no news, 1 news, 2 a row that is none */
static void plain_scores(const plain *p, const int *state, agg_real r[MOST][DIM],
                         long double score[SCORES][MOST]) {
    agg_real centre[DIM], column[MOST];
    for (size_t j = 0; j < DIM; j++) {
        size_t m = 0;
        for (size_t i = 0; i < p->n; i++)
            if (state[i] == 1) column[m++] = r[i][j];
        qsort(column, m, sizeof *column, ascending);
        centre[j] = m % 2 ? column[m / 2] : m ? (column[m / 2 - 1] + column[m / 2]) / 2 : 0;
    }
    for (size_t i = 0; i < p->n; i++) {
        long double least = HUGE_VALL, dot = 0;
        for (size_t s = 0; s < SCORES; s++) score[s][i] = HUGE_VALL;
        if (state[i] != 1) continue;
        for (size_t j = 0; j < p->n; j++)
            if (j != i && state[j] == 1 && (long double)gap_of(r[i], r[j]) < least)
                least = (long double)gap_of(r[i], r[j]);
        for (size_t j = 0; j < DIM; j++) dot += (long double)r[i][j] * (long double)p->d[j];
        score[0][i] = (long double)gap_of(r[i], centre);
        score[1][i] = -score[0][i];
        score[2][i] = -least;
        score[3][i] = -dot;
    }
}

static void plain_bet(plain *p, size_t i, const int *odd, long double chance, size_t t) {
    static const double bet[BETS] = {0.2, 0.5, 0.9};
    const long double anew = 1.0L / ((long double)t + 16);
    long double sum = p->stake[i][0];
    for (size_t j = 1; j < STAKES; j++) {
        const long double part = (long double)bet[(j - 1) % BETS];
        p->stake[i][j] *= 1 + part * (odd[(j - 1) / BETS] / chance - 1);
        sum += p->stake[i][j];
    }
    p->evidence[i] += logl(sum);
    for (size_t j = 0; j < STAKES; j++)
        p->stake[i][j] = (1 - anew) * p->stake[i][j] / sum + anew / STAKES;
}

/* one round; keep: 1-eta */
static void plain_round(plain *p, const agg_real *const *given, double keep, size_t t) {
    const size_t k = p->f ? p->f : 1;
    long double score[SCORES][MOST];
    agg_real r[MOST][DIM];
    int state[MOST];
    size_t count = 0;
    for (size_t i = 0; i < p->n; i++) {
        const int fine = given[i] && all_finite(given[i], DIM);
        state[i] = !given[i] ? 0 : !fine ? 2 : p->known[i];
        for (size_t j = 0; j < DIM && state[i] == 1; j++)
            r[i][j] = (agg_real)((double)given[i][j] - keep * (double)p->last[i][j]);
        if (fine) memcpy(p->last[i], given[i], sizeof p->last[i]);
        p->known[i] = fine;
        count += state[i] > 0;
    }
    plain_scores(p, state, r, score);
    for (size_t i = 0; i < p->n && (1 + p->slack) * (double)k < (double)count - (double)p->f; i++) {
        int odd[SCORES];
        for (size_t s = 0; s < SCORES; s++) {
            size_t others = 0;
            for (size_t j = 0; j < p->n; j++)
                others += j != i && state[j] && score[s][j] >= score[s][i];
            odd[s] = state[i] == 2 || others < k;
        }
        if (state[i])
            plain_bet(p, i, odd,
                      (long double)((1 + p->slack) * (double)k) / (long double)(count - p->f), t);
    }
}

/* rows with memory; now and then one is missing, or is not finite, or is a copy */
static void draw_rows(rng *r, size_t n, double keep, agg_real x[MOST][DIM],
                      const agg_real *given[MOST]) {
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < DIM; j++)
            x[i][j] = (agg_real)(keep * (double)x[i][j] + rng_normal(r) + 0.5);
        given[i] = x[i];
    }
    if (rng_below(r, 4) == 0) given[rng_below(r, n)] = NULL;
    if (rng_below(r, 4) == 0) given[rng_below(r, n)] = given[rng_below(r, n)];
}

TEST evidence_is_its_definition(size_t n, size_t f, rn_watch watch, double slack) {
    rn_server_desc d = watch_desc(n, f, watch);
    watched w;
    plain p = plain_make(n, f);
    agg_real x[MOST][DIM] = {{0}}, bad[DIM] = {0, 0, (agg_real)NAN};
    const agg_real *given[MOST];
    rng r = rng_make(10 * n + f);
    d.slack = p.slack = slack;
    w = watched_make(d);
    for (size_t t = 1; t <= 60; t++) {
        const double eta = rn_server_eta(w.s), keep = watch == RN_WATCH_NEWS ? 1 - eta : 0;
        rn_progress now;
        draw_rows(&r, n, 1 - eta, x, given);
        if (f && rng_below(&r, 5) == 0) given[rng_below(&r, n)] = bad;
        memcpy(p.d, rn_server_direction(w.s), sizeof p.d);
        if (rn_server_update(w.s, given, &now) != RN_OK) {
            rn_server_skip_round(w.s);
            memset(p.known, 0, sizeof p.known);
            continue;
        }
        plain_round(&p, given, keep, t);
        ASSERT(now.evidence && now.evidence == rn_server_evidence(w.s));
        ASSERT(now.cosine <= -2 && now.cosine >= -2); /* only a trainer knows who is honest */
        for (size_t i = 0; i < n; i++)
            ASSERT_IN_RANGE((double)p.evidence[i], now.evidence[i], 1e-9);
    }
    watched_free(&w);
    PASS();
}

/* ---- false alarms: honest news in every order */
typedef struct census {
    size_t n, f, honest;
    const size_t *seat;            /* of the honest */
    agg_real (*news)[DIM];         /* of the honest, in some order */
    const agg_real *given[MOST];   /* of the adversaries; honest ones are filled in */
    agg_real sent[MOST][DIM];      /* x_t = (1-eta) x_{t-1} + news */
    agg_real before[MOST][DIM];    /* x_{t-1} */
    bytes state;                   /* the server before the round */
    long double mean[MOST], count; /* of E after it */
} census;

static void census_order(census *c, watched *w, size_t *order) {
    const agg_real keep = (agg_real)(1 - rn_server_eta(w->s));
    for (size_t i = 0; i < c->honest; i++) {
        const size_t at = c->seat[i];
        for (size_t j = 0; j < DIM; j++)
            c->sent[at][j] = keep * c->before[at][j] + c->news[order[i]][j];
        c->given[at] = c->sent[at];
    }
    if (rn_server_update(w->s, c->given, NULL) != RN_OK) abort();
    for (size_t i = 0; i < c->n; i++) c->mean[i] += expl((long double)rn_server_evidence(w->s)[i]);
    c->count += 1;
    if (rn_server_load(w->s, c->state.at, c->state.size) != RN_OK) abort();
}

static void census_all(census *c, watched *w, size_t *order, size_t at) {
    if (at == c->honest) census_order(c, w, order);
    for (size_t i = at; i < c->honest; i++) {
        size_t swap = order[at];
        order[at] = order[i];
        order[i] = swap;
        census_all(c, w, order, at + 1);
        swap = order[at];
        order[at] = order[i];
        order[i] = swap;
    }
}

static bytes server_saved(const rn_server *s) {
    bytes b;
    b.size = rn_server_save_size(s);
    b.at = (unsigned char *)need(malloc(b.size));
    if (rn_server_save(s, b.at, b.size) != RN_OK) abort();
    return b;
}

enum { ADVERSARY_FAR, ADVERSARY_CENTRAL, ADVERSARY_COPY, ADVERSARY_SILENT, ADVERSARY_NAN, WAYS };

static const agg_real *adversary_row(int way, size_t i, agg_real to[DIM]) {
    for (size_t j = 0; j < DIM; j++) to[j] = (agg_real)(way == ADVERSARY_FAR ? 30 + (double)i : 0);
    if (way == ADVERSARY_COPY) to[0] = (agg_real)1.75;
    if (way == ADVERSARY_NAN) to[0] = (agg_real)NAN;
    return way == ADVERSARY_SILENT ? NULL : to;
}

/* news in steps of 1/8, so that x_t - keep x_{t-1} is exact; equal ones among them if ties */
static void draw_news(rng *r, size_t n, int ties, agg_real news[MOST][DIM]) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < DIM; j++)
            news[i][j] = (agg_real)((double)rng_below(r, ties ? 3 : 64) / 8);
}

/* a past of some rounds, with bets in all sorts of places; news as in THE ALGORITHM */
static void live(watched *w, rng *r, size_t n, agg_real x[MOST][DIM]) {
    const agg_real *given[MOST];
    agg_real news[MOST][DIM];
    for (size_t t = 0; t < 6; t++) {
        draw_news(r, n, 0, news);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < DIM; j++) x[i][j] = x[i][j] / 2 + news[i][j];
            given[i] = x[i];
        }
        if (rn_server_update(w->s, given, NULL) != RN_OK) abort();
    }
}

static int census_take(size_t n, size_t f, const size_t *seats, int way, int ties, rng *r) {
    rn_server_desc d = watch_desc(n, f, RN_WATCH_NEWS);
    agg_real news[MOST][DIM], own[MOST][DIM];
    size_t order[MOST];
    watched w;
    census c;
    int fine = 1;
    d.eta = rn_schedule_constant(0.5);
    w = watched_make(d);
    memset(&c, 0, sizeof c);
    live(&w, r, n, c.before);
    c.n = n;
    c.f = f;
    c.honest = n - f;
    c.seat = seats + f;
    c.state = server_saved(w.s);
    for (size_t i = 0; i < f; i++) c.given[seats[i]] = adversary_row(way, i, own[i]);
    for (size_t i = 0; i < n; i++) order[i] = i;
    draw_news(r, c.honest, ties, news);
    c.news = news;
    census_all(&c, &w, order, 0);
    for (size_t i = 0; i < c.honest; i++) {
        const long double before = expl((long double)rn_server_evidence(w.s)[c.seat[i]]);
        fine = fine && c.mean[c.seat[i]] / c.count <= before * (1 + 1e-12L);
    }
    free(c.state.at);
    watched_free(&w);
    return fine;
}

/* E[E_{t+1} | the past] <= E_t, wherever the adversaries sit and whatever they send without a look
   at the honest */
TEST honest_agents_gain_nothing(size_t n, size_t f) {
    rng r = rng_make(77 * n + f);
    for (int way = 0; way < WAYS; way++)
        for (size_t times = 0; times < rounds(20); times++) {
            size_t seats[MOST];
            for (size_t i = 0; i < n; i++) seats[i] = i;
            rng_shuffle(&r, seats, n);
            if (!census_take(n, f, seats, way, times % 4 == 3, &r)) FAILm("E rose on average");
        }
    PASS();
}

/* In a saved state envelope, generator, t, two powers, theta and d come first; then, agent by agent:
   known, last, evidence, stakes. */
enum {
    WATCH_AT = 32 + 32 + 8 + 16 + 2 * DIM * (int)sizeof(rn_real),
    EVIDENCE_AT = 8 + DIM * (int)sizeof(rn_real),
    STAKES_AT = EVIDENCE_AT + 8,
    AGENT_SIZE = STAKES_AT + 8 * STAKES
};

static void put_double(unsigned char *to, double x) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    for (int i = 0; i < 8; i++) to[i] = (unsigned char)(u >> (8 * i));
}

static double double_at(const unsigned char *from) {
    uint64_t u = 0;
    double x;
    for (int i = 0; i < 8; i++) u |= (uint64_t)from[i] << (8 * i);
    memcpy(&x, &u, sizeof x);
    return x;
}

/* E after the round by E before it, on average: what is kept, three scores that mark just one of n,
   and CLOSE, where the nearest two are equals, which marks nobody: what is bet on that is lost */
static long double fair_growth(bytes state, size_t agent) {
    static const double bet[BETS] = {0.2, 0.5, 0.9};
    const unsigned char *stake = state.at + WATCH_AT + agent * AGENT_SIZE + STAKES_AT;
    long double sum = 0;
    for (size_t j = 0; j < STAKES; j++) {
        const int close = j > 0 && (j - 1) / BETS == 2;
        const double left = close ? 1 - bet[(j - 1) % BETS] : 1;
        sum += (long double)double_at(stake + 8 * j) * (long double)left;
    }
    return sum;
}

/* Without adversaries and ties nothing is lost but that: the bound is an equation. */
TEST bound_is_reached(uint64_t seed) {
    enum { n = 4 };
    rn_server_desc d = watch_desc(n, 0, RN_WATCH_NEWS);
    agg_real news[MOST][DIM];
    size_t order[MOST], seats[MOST];
    rng r = rng_make(seed);
    watched w;
    census c;
    d.eta = rn_schedule_constant(0.5);
    w = watched_make(d);
    memset(&c, 0, sizeof c);
    live(&w, &r, n, c.before);
    c.n = c.honest = n;
    for (size_t i = 0; i < n; i++) order[i] = seats[i] = i;
    c.seat = seats;
    c.state = server_saved(w.s);
    draw_news(&r, n, 0, news);
    c.news = news;
    census_all(&c, &w, order, 0);
    for (size_t i = 0; i < n; i++) {
        const long double before = expl((long double)rn_server_evidence(w.s)[i]);
        const long double want = before * fair_growth(c.state, i);
        ASSERT(want < before && want > before * 0.75L);
        ASSERT(fabsl(c.mean[i] / c.count - want) <= 1e-12L * want);
    }
    free(c.state.at);
    watched_free(&w);
    PASS();
}

/* P(E ever >= 1/alpha) <= alpha, with memory in the rows */
TEST false_alarms_are_rare(void) {
    enum { n = 7, f = 2 };
    const double alpha = 0.1, limit = rn_evidence_limit(alpha, 1);
    const size_t runs = rounds(200);
    size_t alarms = 0, honest = 0;
    rng r = rng_make(12);
    for (size_t run = 0; run < runs; run++) {
        watched w = watched_make(watch_desc(n, f, RN_WATCH_NEWS));
        agg_real x[MOST][DIM] = {{0}};
        const agg_real *given[MOST];
        int alarm[MOST] = {0};
        for (size_t t = 0; t < 150; t++) {
            const double eta = rn_server_eta(w.s);
            for (size_t i = 0; i < n; i++) {
                for (size_t j = 0; j < DIM; j++)
                    x[i][j] = (agg_real)((1 - eta) * (double)x[i][j] + rng_normal(&r));
                given[i] = x[i];
            }
            if (rn_server_update(w.s, given, NULL) != RN_OK) abort();
            for (size_t i = 0; i < n; i++) alarm[i] |= rn_server_evidence(w.s)[i] >= limit;
        }
        for (size_t i = 0; i < n; i++) alarms += alarm[i] != 0;
        honest += n;
        watched_free(&w);
    }
    ASSERT((double)alarms <= alpha * (double)honest);
    PASS();
}

/* one that goes wrong late, after a hundred honest rounds, in one way after the other */
TEST liars_are_found(int way) {
    enum { n = 7, f = 2, LATE = 100, WITHIN = 40 };
    watched w = watched_make(watch_desc(n, f, RN_WATCH_NEWS));
    agg_real x[MOST][DIM] = {{0}}, own[MOST][DIM];
    const agg_real *given[MOST];
    const double limit = rn_evidence_limit(0.01, n);
    size_t found = 0;
    rng r = rng_make(3 + (uint64_t)way);
    for (size_t t = 1; t <= LATE + WITHIN; t++) {
        const double eta = rn_server_eta(w.s);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < DIM; j++)
                x[i][j] = (agg_real)((1 - eta) * (double)x[i][j] + rng_normal(&r));
            given[i] = i < f && t > LATE ? adversary_row(way, i, own[i]) : x[i];
        }
        if (rn_server_update(w.s, given, NULL) != RN_OK) abort();
        for (size_t i = 0; i < f && t == LATE; i++) ASSERT(rn_server_evidence(w.s)[i] < limit);
    }
    for (size_t i = 0; i < n; i++) found += rn_server_evidence(w.s)[i] >= limit;
    for (size_t i = 0; i < f; i++) ASSERT(rn_server_evidence(w.s)[i] >= limit);
    ASSERT_EQ((size_t)f, found);
    watched_free(&w);
    PASS();
}

/* f copies of one honest row and that row are f+1 equals: nobody is marked for it */
TEST victims_of_f_copies_are_not_framed(void) {
    enum { n = 7, f = 2 };
    watched w = watched_make(watch_desc(n, f, RN_WATCH_NEWS));
    agg_real x[MOST][DIM] = {{0}};
    const agg_real *given[MOST];
    rng r = rng_make(31);
    for (size_t t = 1; t <= 100; t++) {
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < DIM; j++)
                x[i][j] = (agg_real)((1 - rn_server_eta(w.s)) * (double)x[i][j] + rng_normal(&r));
            given[i] = x[i < f ? f : i];
        }
        if (rn_server_update(w.s, given, NULL) != RN_OK) abort();
    }
    for (size_t i = 0; i < n; i++) ASSERT(rn_server_evidence(w.s)[i] < rn_evidence_limit(0.01, n));
    watched_free(&w);
    PASS();
}

TEST agents_can_change_places(void) {
    enum { n = 6, f = 2 };
    static const size_t place[n] = {4, 2, 0, 5, 1, 3};
    watched a = watched_make(watch_desc(n, f, RN_WATCH_NEWS));
    watched b = watched_make(watch_desc(n, f, RN_WATCH_NEWS));
    agg_real x[MOST][DIM] = {{0}};
    const agg_real *given[MOST], *moved[MOST];
    rng r = rng_make(8);
    for (size_t t = 0; t < 30; t++) {
        draw_rows(&r, n, 0.5, x, given);
        for (size_t i = 0; i < n; i++) moved[place[i]] = given[i];
        ASSERT_EQ(rn_server_update(a.s, given, NULL), rn_server_update(b.s, moved, NULL));
    }
    for (size_t i = 0; i < n; i++) {
        const double *e = rn_server_evidence(a.s) + i, *g = rn_server_evidence(b.s) + place[i];
        ASSERT(memcmp(e, g, sizeof *e) == 0);
    }
    watched_free(&a);
    watched_free(&b);
    PASS();
}

/* Hostile rows of any size leave numbers behind. Evidence stops at 1e6. */
TEST giants_are_numbers(void) {
    enum { n = 5, f = 2 };
    rn_server_desc d = watch_desc(n, f, RN_WATCH_NEWS);
    agg_real x[MOST][DIM];
    const agg_real *given[MOST];
    rng r = rng_make(9);
    watched w;
    d.update = RN_UPDATE_NORMALISED;
    w = watched_make(d);
    for (size_t t = 0; t < 200; t++) {
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < DIM; j++) x[i][j] = i < f ? giant(&r) : (agg_real)rng_normal(&r);
            given[i] = x[i];
        }
        if (t % 3 == 0) memcpy(x[1], x[0], sizeof x[0]);
        if (t % 7 == 0) x[1][0] = (agg_real)INFINITY;
        if (rn_server_update(w.s, given, NULL) != RN_OK) abort();
        for (size_t i = 0; i < n; i++) ASSERT(isfinite(rn_server_evidence(w.s)[i]));
    }
    for (size_t i = 0; i < f; i++) ASSERT(rn_server_evidence(w.s)[i] > rn_evidence_limit(0.01, n));
    watched_free(&w);
    PASS();
}

/* ---- what changes nothing */
TEST errors_teach_nothing(void) {
    enum { n = 5, f = 1 };
    watched w = watched_make(watch_desc(n, f, RN_WATCH_NEWS));
    agg_real x[MOST][DIM] = {{0}}, bad[DIM] = {(agg_real)NAN, 0, 0};
    const agg_real *given[MOST], *refused[MOST] = {bad, bad, bad, bad, bad};
    rng r = rng_make(4);
    double before[MOST];
    bytes state, again;
    for (size_t t = 0; t < 10; t++) {
        draw_rows(&r, n, 0.5, x, given);
        if (rn_server_update(w.s, given, NULL) != RN_OK) rn_server_skip_round(w.s);
    }
    state = server_saved(w.s);
    ASSERT_EQ(RN_ERR_AGGREGATE, rn_server_update(w.s, refused, NULL));
    again = server_saved(w.s);
    ASSERT(same(state, again));
    memcpy(before, rn_server_evidence(w.s), sizeof(double) * n);
    rn_server_skip_round(w.s); /* what is x_{t-1} is not known any more */
    for (size_t i = 0; i < n; i++) given[i] = x[i];
    ASSERT_EQ(RN_OK, rn_server_update(w.s, given, NULL));
    ASSERT(memcmp(before, rn_server_evidence(w.s), sizeof(double) * n) == 0);
    ASSERT_EQ(RN_OK, rn_server_update(w.s, given, NULL));
    ASSERT(memcmp(before, rn_server_evidence(w.s), sizeof(double) * n) != 0);
    free(state.at);
    free(again.at);
    watched_free(&w);
    PASS();
}

TEST descs_are_checked(void) {
    rn_server_desc d = watch_desc(5, 2, RN_WATCH_ROWS);
    watched w;
    ASSERT(rn_server_size(&d) > 0);
    d.watch = (rn_watch)(RN_WATCH_ROWS + 1);
    ASSERT_EQ(0, rn_server_size(&d));
    d.watch = RN_WATCH_ROWS;
    d.slack = -0.5;
    ASSERT_EQ(0, rn_server_size(&d));
    d.slack = (double)NAN;
    ASSERT_EQ(0, rn_server_size(&d));
    d = watch_desc(5, 2, RN_WATCH_NONE);
    w = watched_make(d);
    ASSERT_EQ(NULL, rn_server_evidence(w.s));
    ASSERT_EQ(NULL, rn_server_evidence(NULL));
    rn_server_skip_round(w.s);
    watched_free(&w);
    ASSERT_IN_RANGE(log(1000), rn_evidence_limit(0.01, 10), 1e-12);
    ASSERT_IN_RANGE(log(100), rn_evidence_limit(0.01, 0), 1e-12);
    ASSERT(isinf(rn_evidence_limit(0, 1)) && isinf(rn_evidence_limit(2, 1)));
    ASSERT(isinf(rn_evidence_limit((double)NAN, 1)) && isinf(rn_evidence_limit(-1, 1)));
    PASS();
}

static agg_status first_row(void *self, const rn_real *const *given, size_t n, size_t dim,
                            rn_real *out) {
    (void)self, (void)n;
    memcpy(out, given[0], dim * sizeof *out);
    return AGG_OK;
}

/* a rule of the host's own: f is agg.f, and must leave the honest more than half */
TEST own_rules_are_watched(void) {
    rn_server_desc d = watch_desc(5, 3, RN_WATCH_NEWS);
    agg_real x[MOST][DIM] = {{0}};
    const agg_real *given[MOST];
    rng r = rng_make(2);
    watched w;
    d.aggregate = first_row;
    ASSERT_EQ(0, rn_server_size(&d));
    d.agg.f = 2;
    w = watched_make(d);
    for (size_t t = 0; t < 3; t++) {
        for (size_t i = 0; i < 5; i++) {
            fill_normal(x[i], DIM, &r, 0, 1);
            given[i] = x[i];
        }
        ASSERT_EQ(RN_OK, rn_server_update(w.s, given, NULL));
    }
    ASSERT(rn_server_evidence(w.s)[0] < 0 || rn_server_evidence(w.s)[0] > 0);
    watched_free(&w);
    PASS();
}

/* ---- saving */
static watched grown(size_t n, size_t f, uint64_t seed, size_t from, size_t to, watched w) {
    agg_real x[MOST][DIM] = {{0}};
    const agg_real *given[MOST];
    rng r = rng_make(seed);
    (void)f;
    for (size_t t = 0; t < to; t++) {
        draw_rows(&r, n, 0.5, x, given);
        if (t >= from && rn_server_update(w.s, given, NULL) != RN_OK) rn_server_skip_round(w.s);
    }
    return w;
}

TEST servers_go_on_with_the_same_bits(rn_watch watch) {
    enum { n = 5, f = 1 };
    watched whole = grown(n, f, 6, 0, 20, watched_make(watch_desc(n, f, watch)));
    watched first = grown(n, f, 6, 0, 9, watched_make(watch_desc(n, f, watch)));
    watched second = watched_make(watch_desc(n, f, watch));
    watched other =
        watched_make(watch_desc(n, f, (rn_watch)(RN_WATCH_NEWS + RN_WATCH_ROWS - watch)));
    bytes state = server_saved(first.s), end, want = server_saved(whole.s);
    ASSERT_EQ(RN_ERR_MISMATCH, rn_server_load(other.s, state.at, state.size));
    ASSERT_EQ(RN_OK, rn_server_load(second.s, state.at, state.size));
    second = grown(n, f, 6, 9, 20, second);
    end = server_saved(second.s);
    ASSERT(same(end, want));
    free(state.at);
    free(end.at);
    free(want.at);
    watched_free(&whole);
    watched_free(&first);
    watched_free(&second);
    watched_free(&other);
    PASS();
}

TEST forged_states_are_refused(void) {
    enum { n = 5, f = 1 };
    const size_t at = WATCH_AT, reals = DIM * sizeof(rn_real);
    const struct {
        size_t at;
        double x;
        rn_status status;
    } forged[] = {{at + 8 + reals, 2e6, RN_ERR_CORRUPT},
                  {at + 8 + reals, -2e6, RN_ERR_CORRUPT},
                  {at + 8 + reals, (double)NAN, RN_ERR_CORRUPT},
                  {at + 8 + reals, -1e6, RN_OK},
                  {at + 8 + reals, 1e6, RN_OK},
                  {at + 16 + reals, 0, RN_ERR_CORRUPT},
                  {at + 16 + reals, 1.5, RN_ERR_CORRUPT},
                  {at + 24 + reals, -0.5, RN_ERR_CORRUPT},
                  {at + 16 + reals, (double)INFINITY, RN_ERR_CORRUPT},
                  {at + 16 + reals, 1, RN_OK},
                  {at, 1.0, RN_ERR_CORRUPT},
                  {at + 8, (double)INFINITY, RN_ERR_CORRUPT}};
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        watched w = grown(n, f, 6, 0, 9, watched_make(watch_desc(n, f, RN_WATCH_NEWS)));
        bytes b = server_saved(w.s);
        put_double(b.at + forged[i].at, forged[i].x);
        if (forged[i].at == at + 8) memset(b.at + forged[i].at, 255, reals);
        reseal(b);
        ASSERT_EQ(forged[i].status, rn_server_load(w.s, b.at, b.size));
        if (forged[i].status == RN_OK) {
            w = grown(n, f, 7, 0, 9, w);
            for (size_t k = 0; k < n; k++) ASSERT(fabs(rn_server_evidence(w.s)[k]) <= 1e6);
        }
        free(b.at);
        watched_free(&w);
    }
    PASS();
}

/* At 1e6 either way it stays, bit by bit: agent 0 sends NaN and is marked in all four, agent 1 sends
   what nobody marks, the others change. */
TEST evidence_has_its_ends(void) {
    enum { n = 7, f = 1 };
    rn_server_desc d = watch_desc(n, f, RN_WATCH_ROWS);
    watched w = watched_make(d);
    agg_real x[MOST][DIM];
    const agg_real *given[MOST];
    bytes b;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < DIM; j++) x[i][j] = (agg_real)((double)i * (1 + (double)j));
        given[i] = x[i];
    }
    ASSERT_EQ(RN_OK, rn_server_update(w.s, given, NULL));
    for (size_t end = 0; end < 2; end++) {
        const double most = end ? 1e6 : -1e6;
        int moved = 0;
        b = server_saved(w.s);
        for (size_t i = 0; i < n; i++)
            put_double(b.at + WATCH_AT + i * AGENT_SIZE + EVIDENCE_AT, most);
        reseal(b);
        ASSERT_EQ(RN_OK, rn_server_load(w.s, b.at, b.size));
        free(b.at);
        x[0][0] = (agg_real)NAN;
        ASSERT_EQ(RN_OK, rn_server_update(w.s, given, NULL));
        for (size_t i = 0; i < n; i++) {
            const double e = rn_server_evidence(w.s)[i];
            ASSERT(end ? e <= most : e >= most);
            moved += e < most || e > most;
        }
        ASSERT(moved);
        ASSERT(moved < n);
        ASSERT((rn_server_evidence(w.s)[0] >= most && end) ||
               (rn_server_evidence(w.s)[0] > most && !end));
        x[0][0] = 0;
    }
    watched_free(&w);
    PASS();
}

static agg_status fixed_d(void *self, const rn_real *const *given, size_t n, size_t dim,
                          rn_real *out) {
    (void)given, (void)n;
    memcpy(out, self, dim * sizeof *out);
    return AGG_OK;
}

#ifdef AGG_DOUBLE
/* Infinity less infinity, in r . d, is as odd as an infinite r . d against it is: one mark, not one
   for each. */
TEST no_dot_is_odd(void) {
    enum { n = 5, f = 1 };
    double evidence[2][n];
    for (int nan = 0; nan < 2; nan++) {
        rn_server_desc desc = watch_desc(n, f, RN_WATCH_NEWS);
        agg_real d[DIM] = {0, 1e150, 0}, x[MOST][DIM] = {{0}};
        const agg_real *given[MOST];
        watched w;
        rng r = rng_make(41);
        d[0] = nan ? 1e150 : -1e150;
        desc.aggregate = fixed_d;
        desc.aggregate_self = d;
        w = watched_make(desc);
        for (int round = 0; round < 2; round++) {
            for (size_t i = 0; i < n; i++) {
                fill_normal(x[i], DIM, &r, 0, 1);
                given[i] = x[i];
            }
            if (round) x[1][0] = 1e200, x[1][1] = -1e200;
            ASSERT_EQ(RN_OK, rn_server_update(w.s, given, NULL));
        }
        memcpy(evidence[nan], rn_server_evidence(w.s), sizeof evidence[nan]);
        watched_free(&w);
    }
    ASSERT(memcmp(evidence[0], evidence[1], sizeof evidence[0]) == 0);
    ASSERT(evidence[0][1] > 0);
    PASS();
}
#endif

/* What is late or old is no news: all that the server knows afterwards is what it knows if there was
   no row. The rule is one that does not look, so that d is the same. */
TEST late_and_old_rows_are_no_news(int old) {
    enum { n = 6, f = 1 };
    rn_server_desc desc = watch_desc(n, f, RN_WATCH_NEWS);
    agg_real d[DIM] = {1, -2, 3}, x[MOST][DIM] = {{0}}, bad[DIM] = {0, (agg_real)NAN, 0};
    watched a, b, all;
    rng r = rng_make(51);
    size_t different = 0;
    desc.aggregate = fixed_d;
    desc.aggregate_self = d;
    a = watched_make(desc);
    b = watched_make(desc);
    all = watched_make(desc);
    for (size_t t = 0; t < 30; t++) {
        const agg_real *given[MOST], *none[MOST];
        unsigned char flags[MOST];
        rn_arrivals arrivals;
        bytes first, second, third;
        for (size_t i = 0; i < n; i++) {
            fill_normal(x[i], DIM, &r, 0, 1);
            flags[i] = rng_below(&r, 5) == 0;
            given[i] = flags[i] && rng_below(&r, 3) == 0 ? bad : x[i];
            none[i] = flags[i] ? NULL : x[i];
        }
        memset(&arrivals, 0, sizeof arrivals);
        arrivals.rows = given;
        if (old)
            arrivals.stale = flags;
        else
            arrivals.late = flags;
        ASSERT_EQ(RN_OK, rn_server_update_from(a.s, &arrivals, NULL));
        ASSERT_EQ(RN_OK, rn_server_update(b.s, none, NULL));
        ASSERT_EQ(RN_OK, rn_server_update(all.s, given, NULL));
        first = server_saved(a.s);
        second = server_saved(b.s);
        third = server_saved(all.s);
        ASSERT(same(first, second));
        different += !same(first, third);
        free(first.at);
        free(second.at);
        free(third.at);
    }
    ASSERT(different > 25);
    watched_free(&a);
    watched_free(&b);
    watched_free(&all);
    PASS();
}

/* ---- in a trainer */
TEST cosine_is_that_of_the_honest(int many) { /* 1: more parameters than a block has */
    setup s;
    rn_net net;
    rn_net_desc shape;
    rn_trainer *t = NULL;
    setup_make(&s, PLAIN);
    shape = rn_make_net_desc(s.envs[0].obs_dim, s.envs[0].actions);
    shape.hidden[0] = 30;
    if (many) s.d.policy = rn_make_net_policy(&net, &shape);
    ASSERT_EQ(many, s.d.policy.dim > 64);
    s.d.adversaries = 1;
    s.d.server.watch = RN_WATCH_NEWS;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    for (int round = 0; round < 5; round++) {
        const size_t dim = s.d.policy.dim;
        const rn_progress *p = rn_trainer_progress(t);
        double dot = 0, dd = 0, mm = 0;
        ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
        for (size_t j = 0; j < dim; j++) {
            const double d = (double)rn_server_direction(rn_trainer_server(t))[j];
            double mean = 0;
            for (size_t i = 0; i + 1 < TEAM; i++)
                mean += (double)rn_agent_direction(rn_trainer_agent(t, i))[j] / (TEAM - 1);
            dot += d * mean;
            dd += d * d;
            mm += mean * mean;
        }
        ASSERT_IN_RANGE(dot / sqrt(dd * mm), p->cosine, 1e-9);
        ASSERT_EQ(rn_server_evidence(rn_trainer_server(t)), p->evidence);
    }
    rn_trainer_destroy(t);
    PASS();
}

/* nobody honest, or no aggregate */
TEST cosine_may_be_unknown(void) {
    setup s;
    rn_trainer *t = NULL;
    setup_make(&s, PLAIN);
    s.d.adversaries = TEAM;
    s.d.attack.vector.kind = AGG_ATTACK_NAN;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    ASSERT_EQ(RN_ERR_AGGREGATE, rn_trainer_run_round(t));
    ASSERT(rn_trainer_progress(t)->cosine <= -2 && rn_trainer_progress(t)->cosine >= -2);
    rn_trainer_destroy(t);
    setup_make(&s, PLAIN);
    s.d.adversaries = TEAM;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    ASSERT(rn_trainer_progress(t)->cosine <= -2 && rn_trainer_progress(t)->cosine >= -2);
    rn_trainer_destroy(t);
    PASS();
}

SUITE(evidence) {
    static const size_t shape[][2] = {{1, 0}, {3, 0}, {3, 1}, {4, 1}, {5, 2}, {7, 2}, {8, 3}};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        RUN_TESTp(evidence_is_its_definition, shape[i][0], shape[i][1], RN_WATCH_NEWS, 0);
        RUN_TESTp(evidence_is_its_definition, shape[i][0], shape[i][1], RN_WATCH_ROWS, 0.25);
    }
    RUN_TESTp(honest_agents_gain_nothing, 4, 1);
    RUN_TESTp(honest_agents_gain_nothing, 5, 2);
    RUN_TESTp(honest_agents_gain_nothing, 6, 1);
    RUN_TESTp(honest_agents_gain_nothing, 6, 2);
    for (uint64_t seed = 5; seed < 9; seed++) RUN_TESTp(bound_is_reached, seed);
    RUN_TEST(false_alarms_are_rare);
    RUN_TESTp(liars_are_found, ADVERSARY_FAR);
    RUN_TESTp(liars_are_found, ADVERSARY_CENTRAL);
    RUN_TESTp(liars_are_found, ADVERSARY_COPY);
    RUN_TESTp(liars_are_found, ADVERSARY_NAN);
    RUN_TEST(victims_of_f_copies_are_not_framed);
    RUN_TEST(agents_can_change_places);
    RUN_TEST(giants_are_numbers);
}

SUITE(keeping) {
    RUN_TEST(errors_teach_nothing);
    RUN_TEST(descs_are_checked);
    RUN_TEST(own_rules_are_watched);
    RUN_TESTp(servers_go_on_with_the_same_bits, RN_WATCH_NEWS);
    RUN_TESTp(servers_go_on_with_the_same_bits, RN_WATCH_ROWS);
    RUN_TEST(forged_states_are_refused);
    RUN_TEST(evidence_has_its_ends);
#ifdef AGG_DOUBLE
    RUN_TEST(no_dot_is_odd);
#endif
    RUN_TESTp(late_and_old_rows_are_no_news, 0);
    RUN_TESTp(late_and_old_rows_are_no_news, 1);
    for (int many = 0; many < 2; many++) RUN_TESTp(cosine_is_that_of_the_honest, many);
    RUN_TEST(cosine_may_be_unknown);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(evidence);
    RUN_SUITE(keeping);
    GREATEST_MAIN_END();
}
