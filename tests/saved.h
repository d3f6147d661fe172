/* Shared by what saves and loads: a small trainer with everything that has a state, its saved
   bytes, and the seal on them. Include resnharpg.h, common.h and tiny.h first. */
#ifndef TESTS_SAVED_H
#define TESTS_SAVED_H

enum { TEAM = 4 };

/* small, and with everything that has a state: Adam, bucketing, noise, both kinds of baselines,
   batches, a table */
enum {
    PLAIN,
    TIME,
    RIDGE,
    ADAM,
    BUCKETS,
    NOISE,
    TABLE,
    SOFT,
    TUNED,
    BUDGET,
    AHEAD,
    WATCHED,
    MIMICS,
    TRIES,
    POISON,
    KINDS
};

/* A policy whose functions look at what they are given, as a host's that takes it for indices would
   have to: observations finite or states, actions 0 .. ACTIONS-1, theta finite. */
typedef struct guard {
    rn_policy inner;
    int table;
    size_t broken; /* times that was not so */
} guard;

static inline int guard_index(rn_real x, size_t n) {
    return x >= 0 && x < (rn_real)n && (rn_real)(int)x >= x;
}

static inline void guard_rows(guard *g, const rn_real *theta, size_t T, const rn_real *obs,
                              const rn_real *act) {
    int fine = all_finite(theta, g->inner.dim) && all_finite(obs, T * g->inner.obs_dim);
    for (size_t t = 0; t < T && fine; t++) {
        fine = !act || guard_index(act[t], ACTIONS);
        if (g->table) fine = fine && guard_index(obs[t], STATES);
    }
    g->broken += !fine;
}

static inline void guard_act(void *self, const rn_real *theta, const rn_real *obs, const agg_rng *r,
                             rn_real *act, void *work) {
    guard_rows((guard *)self, theta, 1, obs, NULL);
    inner_act(self, theta, obs, r, act, work);
}

static inline void guard_grad(void *self, const rn_real *theta, size_t T, const rn_real *obs,
                              const rn_real *act, const rn_real *w, rn_real *g, void *work) {
    guard_rows((guard *)self, theta, T, obs, act);
    inner_grad(self, theta, T, obs, act, w, g, work);
}

static inline void guard_dot(void *self, const rn_real *theta, const rn_real *u, size_t T,
                             const rn_real *obs, const rn_real *act, rn_real *c, void *work) {
    guard_rows((guard *)self, theta, T, obs, act);
    inner_dot(self, theta, u, T, obs, act, c, work);
}

static inline void guard_hvp(void *self, const rn_real *theta, const rn_real *u, size_t T,
                             const rn_real *obs, const rn_real *act, const rn_real *w,
                             const rn_real *k, rn_real *h, void *work) {
    guard_rows((guard *)self, u, T, obs, act);
    inner_hvp(self, theta, u, T, obs, act, w, k, h, work);
}

static inline rn_policy guard_make(guard *g, const model *m) {
    rn_policy p;
    memset(g, 0, sizeof *g);
    g->inner = m->policy;
    g->table = m->table;
    p = policy_around(g);
    p.act = guard_act;
    p.grad = guard_grad;
    p.dot = guard_dot;
    p.hvp = guard_hvp;
    if (m->policy.init) p.init = inner_init;
    return p;
}

typedef struct setup {
    mdp m;
    model p;
    guard g;
    walk walks[TEAM];
    rn_env envs[TEAM];
    rn_trainer_desc d;
} setup;

static inline void setup_make(setup *s, int kind) {
    rn_trainer_desc *d = &s->d;
    const rn_net_desc net = net_desc(FEATURES, ACTIONS, 2, 0, RN_TANH);
    memset(s, 0, sizeof *s);
    s->m = mdp_random(90);
    model_for_walk(&s->p, kind == TABLE, &net);
    for (size_t i = 0; i < TEAM; i++) s->envs[i] = walk_env(&s->walks[i], &s->m, kind == TABLE);
    d->agents = TEAM;
    d->envs = s->envs;
    d->policy = guard_make(&s->g, &s->p);
    d->seed = 7;
    d->method.horizon = 5;
    d->method.discount = 0.9;
    d->server.agg.f = 1;
    d->server.eta = rn_schedule_constant(0.4);
    d->server.gamma = rn_schedule_linear(0.2, 0.1, 4);
    switch (kind) {
    case TIME:
        d->method.baseline = RN_BASELINE_TIME;
        d->method.batch = 2;
        break;
    case RIDGE:
        d->method.baseline = RN_BASELINE_RIDGE;
        d->method.causal = 1;
        break;
    case AHEAD:
        d->method.lookahead = 1;
        d->method.batch = 2;
        break;
    case ADAM: d->server.update = RN_UPDATE_ADAM; break;
    case BUDGET: d->server.kl = 1e-3; break;
    case WATCHED: d->server.watch = RN_WATCH_NEWS; break;
    case MIMICS: /* what remembers rounds, and goes slowly */
        d->adversaries = 1;
        d->attack.vector.kind = AGG_ATTACK_ONLINE_MIMIC;
        d->attack.ramp = 3;
        break;
    case TRIES: /* what tries the rule; "worst" does the same, at length */
        d->adversaries = 1;
        d->attack.vector.kind = AGG_ATTACK_LINE_SEARCH;
        break;
    case POISON:
        d->adversaries = 1;
        d->attack.kind = RN_ATTACK_REWARD_POISON;
        d->attack.wait = 1;
        d->attack.ramp = 3;
        break;
    case TUNED:
        d->method.tuned = d->method.causal = 1;
        d->method.batch = 2;
        break;
    case SOFT: /* and v from g's own trajectories */
        d->server.soft = d->method.reuse = d->method.flat = d->method.causal = 1;
        d->method.clip = 0.5;
        d->method.batch = 2;
        break;
    case BUCKETS:
        d->server.agg.pre[0] = AGG_PRE_BUCKETING;
        d->server.agg.f = 0;
        break;
    case NOISE: /* a rule that lets the noise through, so that its random numbers matter */
        d->adversaries = 1;
        d->attack.vector.kind = AGG_ATTACK_NOISE;
        d->server.agg = agg_make_desc(AGG_MEAN, TEAM, s->p.policy.dim, 0);
        break;
    default: break;
    }
}

typedef struct bytes {
    unsigned char *at;
    size_t size;
} bytes;

static inline bytes saved(const rn_trainer *t) {
    bytes b;
    b.size = rn_trainer_save_size(t);
    b.at = (unsigned char *)need(malloc(b.size + 16));
    memset(b.at, CANARY, b.size + 16);
    if (rn_trainer_save(t, b.at, b.size) != RN_OK) abort();
    for (size_t i = 0; i < 16; i++)
        if (b.at[b.size + i] != CANARY) abort();
    return b;
}

static inline int same(bytes a, bytes b) {
    return a.size == b.size && memcmp(a.at, b.at, a.size) == 0;
}

static inline int same_state(const rn_trainer *t, bytes want) {
    const bytes now = saved(t);
    const int equal = same(now, want);
    free(now.at);
    return equal;
}

/* an enemy who knows the format mends the CRC */
static inline uint32_t crc32_of(const unsigned char *p, size_t n) {
    static uint32_t table[256];
    uint32_t crc = 0xffffffffu;
    for (uint32_t i = 0; i < 256 && !table[255]; i++) {
        table[i] = i;
        for (int b = 0; b < 8; b++)
            table[i] = table[i] & 1u ? (table[i] >> 1) ^ 0xedb88320u : table[i] >> 1;
    }
    while (n--) crc = (crc >> 8) ^ table[(crc ^ *p++) & 255u];
    return ~crc;
}

/* the last 8 bytes are the CRC */
static inline void reseal(bytes b) {
    const uint32_t crc = crc32_of(b.at, b.size - 8);
    for (int i = 0; i < 8; i++)
        b.at[b.size - 8 + (size_t)i] = (unsigned char)(i < 4 ? crc >> (8 * i) : 0);
}
#endif /* TESTS_SAVED_H */
