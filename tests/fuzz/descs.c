/* Every other public function with any arguments: descs full of nonsense, sizes that overflow,
   numbers that are not finite. Promised: a status or the documented answer; what _size() says is
   enough, and one byte less is refused; what is made from such a desc runs, and theta stays finite.
   Bound: one block of at most 1 MB, `STEPS` steps of the environments. */
#include "implementation.h"
#include "resnharpg.h"
#include <math.h>
#include "common.h"
#include "tiny.h"
#include "fuzz/fuzz.h"

enum { MOST_AGENTS = 5, STEPS = 60, MOST_BYTES = 1 << 20 };

/* ---- an environment of any shape: its observations come from the rng and stay small */
typedef struct blob {
    rn_env *shape;
    uint32_t steps;
} blob;

static void blob_look(const blob *b, const agg_rng *r, rn_real *obs) {
    for (size_t k = 0; k < b->shape->obs_dim; k++) obs[k] = (rn_real)rn_draw_below(r, 3);
}

static void blob_reset(void *self, const agg_rng *r, rn_real *obs) {
    blob_look((blob *)self, r, obs);
}

static rn_step_result blob_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                double *reward) {
    blob *b = (blob *)self;
    *reward = (double)act[b->shape->act_dim - 1];
    blob_look(b, r, obs);
    return b->steps++ % 7 == 6 ? RN_TERMINATED : RN_RUNNING;
}

static void blob_save(const void *self, void *bytes) {
    memcpy(bytes, &((const blob *)self)->steps, 4);
}

static int blob_load(void *self, const void *bytes) {
    memcpy(&((blob *)self)->steps, bytes, 4);
    return 1;
}

typedef struct world {
    rn_net net;
    rn_table table;
    rn_env envs[MOST_AGENTS];
    blob blobs[MOST_AGENTS];
    rn_attack attacks[MOST_AGENTS];
    rn_policy policy;
} world;

static rn_policy feed_policy(feed *f, world *w) {
    rn_net_desc d;
    if (feed_byte(f) < 64) {
        const size_t states = feed_size(f), actions = feed_size(f);
        return rn_make_table_policy(&w->table, states, actions);
    }
    memset(&d, 0, sizeof d);
    d.obs_dim = feed_size(f);
    d.outputs = feed_size(f);
    for (size_t l = feed_below(f, RN_MAX_HIDDEN + 1); l-- > 0;) d.hidden[l] = feed_size(f);
    d.gaussian = feed_flag(f);
    d.state_std = feed_flag(f);
    d.no_bias = feed_flag(f);
    d.tanh_head = feed_flag(f);
    d.activation = (rn_activation)feed_enum(f, 3);
    if (feed_flag(f)) {
        d.log_std = feed_double(f);
        d.log_std_min = feed_double(f);
        d.log_std_max = feed_double(f);
        d.clip = feed_double(f);
        d.out_scale = feed_double(f);
    }
    return rn_make_net_policy(&w->net, &d);
}

static rn_env feed_env(feed *f, world *w, size_t i) {
    rn_env e;
    memset(&e, 0, sizeof e);
    w->blobs[i].shape = &w->envs[i];
    w->blobs[i].steps = 0;
    e.self = &w->blobs[i];
    e.reset = blob_reset;
    e.step = blob_step;
    e.obs_dim = w->policy.obs_dim;
    e.act_dim = w->policy.act_dim;
    e.actions = w->policy.actions;
    if (feed_byte(f) < 128) {
        e.state_size = 4;
        e.save = blob_save;
        e.load = blob_load;
    }
    if (feed_byte(f) < 8) { /* what does not fit */
        e.obs_dim = feed_size(f);
        e.act_dim = feed_size(f);
        e.actions = feed_size(f);
        e.state_size = e.save ? 4 : feed_size(f);
    }
    if (feed_flag(f)) {
        e.act_low = feed_double(f);
        e.act_high = feed_double(f);
    }
    return e;
}

static rn_method feed_method(feed *f) {
    rn_method m;
    memset(&m, 0, sizeof m);
    m.horizon = feed_size(f);
    m.batch = feed_byte(f) < 128 ? 1 : feed_size(f);
    m.discount = feed_byte(f) < 128 ? 0.9 : feed_double(f);
    m.estimator = (rn_estimator)feed_enum(f, 2);
    m.baseline = (rn_baseline)feed_enum(f, 3);
    m.no_hessian = feed_flag(f);
    m.causal = feed_flag(f);
    m.whiten = feed_flag(f);
    if (!feed_flag(f)) return m;
    m.clip = feed_double(f);
    m.forget = feed_double(f);
    m.ridge = feed_double(f);
    m.flat = feed_flag(f);
    m.reuse = feed_flag(f);
    m.tuned = feed_flag(f);
    m.curvature = feed_flag(f);
    return m;
}

static double from_self(void *self, size_t t) { return *(double *)self / (double)t; }

static rn_schedule feed_schedule(feed *f, double *self) {
    rn_schedule s;
    memset(&s, 0, sizeof s);
    s.kind = (rn_schedule_kind)feed_enum(f, RN_SCHEDULE_CALLBACK + 1);
    s.value = feed_double(f);
    s.end = feed_double(f);
    s.factor = feed_double(f);
    s.shift = feed_double(f);
    s.rounds = feed_size(f);
    s.at = feed_flag(f) ? from_self : NULL;
    s.self = self;
    *self = feed_double(f);
    return s;
}

static agg_desc feed_agg(feed *f, rng *random) {
    agg_desc d = agg_make_desc((agg_rule)feed_enum(f, AGG_RULE_COUNT), 0, 0, 0);
    d.n = feed_size(f);
    d.dim = feed_size(f);
    d.f = feed_below(f, 4);
    d.pre[0] = (agg_pre)feed_enum(f, AGG_PRE_COUNT);
    d.pre[1] = (agg_pre)feed_enum(f, AGG_PRE_COUNT);
    d.classic_krum = feed_flag(f);
    d.q = feed_size(f);
    d.pivot = feed_size(f);
    d.bucket = feed_size(f);
    d.clip = feed_double(f);
    d.tau = feed_double(f);
    d.gap = feed_double(f);
    d.budget = feed_byte(f);
    d.iterations = feed_below(f, 8);
    if (feed_flag(f)) d.rng = rng_for_library(random);
    d.share = feed_double(f);
    d.blocks = feed_size(f);
    d.sigma = feed_double(f);
    d.delta = feed_double(f);
    d.batch = feed_size(f);
    return d;
}

static rn_attack feed_attack(feed *f) {
    rn_attack l;
    memset(&l, 0, sizeof l);
    l.kind = (rn_attack_kind)feed_enum(f, RN_ATTACK_NONE + 1);
    l.vector.kind = (agg_attack_kind)feed_enum(f, AGG_ATTACK_COUNT);
    l.vector.n = feed_size(f);
    l.vector.f = feed_size(f);
    l.vector.target = feed_size(f);
    l.vector.strength = feed_double(f);
    return l;
}

/* ---- what takes numbers alone */
static void try_numbers(feed *f) {
    double self;
    rn_schedule s = feed_schedule(f, &self);
    rn_assumptions p;
    rn_constants c;
    const size_t n = feed_size(f), adversaries = feed_size(f), dim = feed_size(f);
    const agg_rule rule = (agg_rule)feed_enum(f, AGG_RULE_COUNT);
    const double T = feed_double(f), eps = feed_double(f),
                 lambda = agg_lambda(rule, n, adversaries, dim);
    memset(&p, 0, sizeof p);
    p.G1 = feed_double(f), p.G2 = feed_double(f), p.R = feed_double(f), p.muF = feed_double(f);
    p.discount = feed_double(f), p.lambda = feed_double(f), p.eps_bias = feed_double(f),
    p.gap = feed_double(f);
    p.sigma2 = feed_double(f), p.sigmaH2 = feed_double(f);
    p.n = n, p.f = adversaries;
    (void)rn_schedule_value(&s, feed_size(f));
    c = rn_theory_constants(&p, T);
    PROMISE(!isnan(c.H));
    PROMISE(!(rn_theory_bound(&p, T) < 0) || rn_theory_bound(&p, T) <= -1);
    PROMISE(rn_theory_trajectories(&p, eps) <= -1 || rn_theory_trajectories(&p, eps) >= 2);
    PROMISE(lambda >= 0 || lambda <= -1);
    PROMISE(agg_sample_complexity(rule, eps, n, adversaries, dim) >= 0 || lambda < 0);
    PROMISE(agg_max_f(rule, n) <= n / 2);
    PROMISE(rn_theory_horizon(T, eps) <= 1000000000);
    PROMISE(agg_rule_name(rule) && agg_rule_cost(rule) && rn_status_text((rn_status)rule) &&
            agg_status_text((agg_status)rule));
    PROMISE(agg_attack_name((agg_attack_kind)rule) && agg_rule_is_order_optimal(rule) >= 0);
}

/* ---- what takes rows */
static void try_rows(feed *f) {
    const size_t n = feed_below(f, 9), dim = feed_below(f, 9), adversaries = feed_below(f, 5);
    table t = feed_table(f, n, dim + 1);
    agg_real *own = feed_row(f, dim + 1, NULL),
             *out = (agg_real *)need(calloc(dim + 1, sizeof *out));
    rng random = rng_make(feed_byte(f));
    rn_attack l = feed_attack(f);
    double ratio = -1;
    uint64_t worst = 0;
    agg_status s;
    if (feed_flag(f)) l.vector.rng = rng_for_library(&random);
    s = agg_attack(&l.vector, t.read, n, dim, own, out);
    PROMISE((unsigned)s < AGG_STATUS_COUNT);
    s = agg_resilience(t.read, n, dim, adversaries, n && t.read[0] ? t.read[0] : out, &ratio,
                       &worst);
    PROMISE(s == AGG_OK ? ratio >= 0 && worst < (uint64_t)1 << n : ratio <= -1 && !worst);
    free(own);
    free(out);
    table_free(&t);
}

/* ---- what takes descs */
/* exactly that long, at any address */
static void *block_for(size_t size, size_t shift, unsigned char **raw) {
    *raw = (unsigned char *)need(malloc(size + shift));
    return *raw + shift;
}

/* words end where their room does */
static void check_words(char *text, size_t room) {
    PROMISE(!room || strlen(text) < room);
    free(text);
}

static void try_agent(feed *f, world *w, const rn_env *e, const rn_method *m, size_t shift) {
    rn_agent_desc d;
    rn_agent *a = NULL;
    rn_real *theta;
    unsigned char *raw;
    char *text;
    size_t size;
    void *block;
    memset(&d, 0, sizeof d);
    d.env = *e;
    d.policy = w->policy;
    d.method = *m;
    d.seed = feed_byte(f);
    d.stream = (uint32_t)feed_size(f);
    d.random_action = feed_flag(f);
    text = (char *)need(malloc(shift + 1));
    size = rn_agent_size(&d);
    PROMISE((rn_agent_explain(&d, text, shift) == RN_OK) == (size > 0));
    check_words(text, shift);
    if (!size) PROMISE(rn_agent_init(&a, &d, &d, sizeof d) > RN_MORE);
    if (!size || size > MOST_BYTES) return;
    block = block_for(size, shift, &raw);
    PROMISE(rn_agent_init(&a, &d, block, size - 1) == RN_ERR_MEMORY && !a);
    PROMISE(rn_agent_init(&a, &d, block, size) == RN_OK);
    theta = (rn_real *)need(calloc(w->policy.dim, sizeof *theta));
    theta[0] = (rn_real)feed_double(f);
    for (int i = 0; i < 3; i++) {
        const rn_status s = rn_agent_begin_round(a, theta, feed_double(f));
        if (s == RN_OK) (void)rn_agent_tick(a, STEPS, NULL);
        PROMISE(!rn_agent_direction(a) || all_finite(rn_agent_direction(a), w->policy.dim));
    }
    free(theta);
    free(raw);
}

static void try_evaluate(feed *f, const world *w, const rn_env *e) {
    const size_t size = rn_evaluate_scratch_size(e, &w->policy);
    rn_real *theta;
    rn_evaluation_desc d;
    rn_evaluation out;
    rn_status s;
    unsigned char small[64], *raw;
    void *block;
    memset(&d, 0, sizeof d);
    d.trajectories = feed_below(f, 4);
    d.horizon = feed_below(f, 20);
    d.sampled = feed_flag(f);
    d.stream = (uint32_t)feed_size(f);
    if (!size || size > MOST_BYTES || w->policy.dim > MOST_BYTES / sizeof *theta) {
        rn_real zero = 0; /* never read: the sizes are refused */
        if (!size)
            PROMISE(rn_evaluate(&d, e, &w->policy, &zero, small, sizeof small, &out) > RN_MORE);
        return;
    }
    theta = (rn_real *)need(calloc(w->policy.dim, sizeof *theta));
    block = block_for(size, feed_byte(f) % 65, &raw);
    PROMISE(rn_evaluate(&d, e, &w->policy, theta, block, size - 1, &out) == RN_ERR_MEMORY);
    s = rn_evaluate(&d, e, &w->policy, theta, block, size, &out);
    PROMISE(s == RN_OK || s == RN_ERR_ENV || s == RN_ERR_POLICY);
    free(theta);
    free(raw);
}

static void train(feed *f, rn_trainer *t, const world *w) {
    size_t left = STEPS, used;
    for (int i = 0; i < 8 && left; i++) {
        const rn_status s = rn_trainer_tick(t, 1 + feed_below(f, 20) % left, &used);
        rn_attack l = feed_attack(f);
        left -= used < left ? used : left;
        PROMISE(s == RN_OK || s == RN_MORE || s == RN_ERR_AGGREGATE || s == RN_ERR_THETA);
        PROMISE(all_finite(rn_trainer_theta(t), w->policy.dim));
        if (feed_byte(f) > 192) (void)rn_trainer_set_attack(t, feed_below(f, MOST_AGENTS + 1), &l);
        if (feed_byte(f) > 192) {
            const size_t size = rn_trainer_save_size(t);
            unsigned char *bytes = (unsigned char *)need(malloc(size + 1));
            const rn_status saved = rn_trainer_save(t, bytes, size);
            PROMISE(saved == RN_OK || saved == RN_ERR_NO_SAVE);
            if (saved == RN_OK) PROMISE(rn_trainer_load(t, bytes, size) == RN_OK);
            free(bytes);
        }
    }
}

static void try_trainer(feed *f, world *w, const rn_method *m, rng *random) {
    double self[2];
    rn_trainer_desc d;
    rn_trainer *t = NULL;
    unsigned char *raw;
    char *text;
    size_t size, shift = feed_byte(f) % 65;
    void *block;
    rn_status s;
    memset(&d, 0, sizeof d);
    d.agents = feed_below(f, MOST_AGENTS + 1);
    for (size_t i = 0; i < MOST_AGENTS; i++) {
        w->envs[i] = feed_env(f, w, i);
        w->attacks[i] = feed_attack(f);
    }
    d.envs = w->envs;
    d.policy = w->policy;
    d.method = *m;
    if (feed_flag(f)) d.server.agg = feed_agg(f, random);
    d.server.gamma = feed_flag(f) ? feed_schedule(f, &self[0]) : rn_schedule_constant(0.1);
    d.server.eta = feed_flag(f) ? feed_schedule(f, &self[1]) : rn_schedule_constant(0.5);
    d.server.update = (rn_update_kind)feed_enum(f, 4);
    if (feed_flag(f)) d.server.radius = feed_double(f);
    d.server.soft = feed_flag(f);
    d.adversaries = feed_flag(f) ? feed_size(f) : 0;
    d.attack = feed_attack(f);
    if (feed_flag(f)) d.attacks = w->attacks;
    d.seed = feed_byte(f);
    text = (char *)need(malloc(shift + 1));
    size = rn_trainer_size(&d);
    PROMISE((rn_trainer_explain(&d, text, shift) == RN_OK) == (size > 0));
    check_words(text, shift);
    if (!size) PROMISE(rn_trainer_init(&t, &d, &d, sizeof d) > RN_MORE && !t);
    if (!size || size > MOST_BYTES) return;
    block = block_for(size, shift, &raw);
    PROMISE(rn_trainer_init(&t, &d, block, size - 1) == RN_ERR_MEMORY && !t);
    s = rn_trainer_init(&t, &d, block, size);
    PROMISE(s == RN_OK || s == RN_ERR_POLICY); /* the first theta was not finite */
    if (s == RN_OK) train(f, t, w);
    free(raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static world w;
    feed f = feed_make(data, size);
    rng random = rng_make(feed_byte(&f));
    rn_method m;
    const int what = feed_byte(&f) % 8;
    memset(&w, 0, sizeof w);
    if (what == 0) {
        try_numbers(&f);
        return 0;
    }
    if (what == 1) {
        try_rows(&f);
        return 0;
    }
    w.policy = feed_policy(&f, &w);
    w.envs[0] = feed_env(&f, &w, 0);
    m = feed_method(&f);
    if (what == 2)
        try_agent(&f, &w, &w.envs[0], &m, feed_byte(&f) % 65);
    else if (what == 3)
        try_evaluate(&f, &w, &w.envs[0]);
    else
        try_trainer(&f, &w, &m, &random);
    return 0;
}
