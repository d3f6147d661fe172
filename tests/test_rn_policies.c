/* The built-in policies of resnharpg.h against plain ones in long double that carry exact
   derivatives (tiny.h): gradient, c_t, Hessian product and B u at ordinary and extreme points;
   act() against the probabilities; policies of a host. */
#include "implementation.h"
#include "resnharpg.h"
#include "greatest.h"
#include "common.h"
#include "tiny.h"

/* clang-format off */

/*  X(name, obs, outputs, hidden x 4, activation, gaussian, state_std, no_bias, tanh_head, log-std
   limit) */
#define CASE_LIST(X)                                                                \
    X("linear softmax",          3,  2, 0, 0, 0, 0, RN_TANH,     0, 0, 0, 0, 0)     \
    X("linear, 1 seen, 5 acts",  1,  5, 0, 0, 0, 0, RN_TANH,     0, 0, 1, 0, 0)     \
    X("one action",              2,  1, 2, 0, 0, 0, RN_TANH,     0, 0, 0, 0, 0)     \
    X("17-17",                  17, 17, 0, 0, 0, 0, RN_TANH,     0, 0, 0, 0, 0)     \
    X("tanh 1",                  2,  3, 1, 0, 0, 0, RN_TANH,     0, 0, 0, 0, 0)     \
    X("tanh 17",                 3,  2, 17, 0, 0, 0, RN_TANH,    0, 0, 0, 0, 0)     \
    X("tanh 16-16",              4,  2, 16, 16, 0, 0, RN_TANH,   0, 0, 0, 0, 0)     \
    X("tanh head",               2,  3, 3, 0, 0, 0, RN_TANH,     0, 0, 0, 1, 0)     \
    X("relu 3-17, head, no bias", 4, 2, 3, 17, 0, 0, RN_RELU,    0, 0, 1, 1, 0)     \
    X("relu 5-3-1-4",            3,  3, 5, 3, 1, 4, RN_RELU,     0, 0, 0, 0, 0)     \
    X("tanh 3-1-3-2",            2,  4, 3, 1, 3, 2, RN_TANH,     0, 0, 0, 0, 0)     \
    X("tanh 4-3-2, no bias",     3,  2, 4, 3, 2, 0, RN_TANH,     0, 0, 1, 0, 0)     \
    X("identity 3-3",            2,  3, 3, 3, 0, 0, RN_IDENTITY, 0, 0, 0, 0, 0)     \
    X("linear Gaussian",         3,  2, 0, 0, 0, 0, RN_TANH,     1, 0, 0, 0, 0)     \
    X("linear Gaussian, clamp",  3,  9, 0, 0, 0, 0, RN_TANH,     1, 0, 0, 0, 0.5)   \
    X("Gaussian of state",       2,  1, 0, 0, 0, 0, RN_TANH,     1, 1, 0, 0, 0)     \
    X("tanh 5 Gaussian",         3,  1, 5, 0, 0, 0, RN_TANH,     1, 0, 0, 0, 0)     \
    X("tanh 3-5 Gaussian, head", 2,  3, 3, 5, 0, 0, RN_TANH,     1, 0, 1, 1, 0)     \
    X("tanh 5 Gaussian of state, clamp", 3, 2, 5, 0, 0, 0, RN_TANH, 1, 1, 0, 0, 0.3) \
    X("relu 4-3 Gaussian of state, head", 2, 5, 4, 3, 0, 0, RN_RELU, 1, 1, 0, 1, 0)

/* clang-format on */
typedef struct net_case {
    const char *name;
    size_t obs, outputs, hidden[RN_MAX_HIDDEN];
    rn_activation activation;
    int gaussian, state_std, no_bias, tanh_head;
    double limit;
} net_case;

#define CASE_X(name, obs, out, a, b, c, d, act, gauss, state, bias, head, limit)                   \
    {name, obs, out, {a, b, c, d}, act, gauss, state, bias, head, limit},
static const net_case cases[] = {CASE_LIST(CASE_X)};

enum { CASES = sizeof cases / sizeof *cases, TABLE_CASE = CASES };

static const char *case_name(int k) { return k == TABLE_CASE ? "table" : cases[k].name; }

static void case_make(model *m, int k) {
    rn_net_desc d;
    if (k == TABLE_CASE) {
        model_table(m, 5, 3);
        return;
    }
    d = rn_make_net_desc(cases[k].obs, cases[k].outputs);
    memcpy(d.hidden, cases[k].hidden, sizeof d.hidden);
    d.activation = cases[k].activation;
    d.gaussian = cases[k].gaussian;
    d.state_std = cases[k].state_std;
    d.no_bias = cases[k].no_bias;
    d.tanh_head = cases[k].tanh_head;
    d.log_std_min = -cases[k].limit;
    d.log_std_max = cases[k].limit;
    model_net(m, &d);
}

/* clang-format off */

/*  X(id, name, weights, observations): where it is tried */
#define POINT_LIST(X)                          \
    X(USUAL,     "usual",       0.5, 1)        \
    X(NEAR_ZERO, "near zero",  1e-3, 1)        \
    X(SATURATED, "saturated",     6, 1)        \
    X(LARGE,     "large input", 0.5, 1000)
/* clang-format on */
#define POINT_X(id, name, weights, inputs) id,

enum { POINT_LIST(POINT_X) POINTS };

#undef POINT_X
#define POINT_X(id, name, weights, inputs) {name, weights, inputs},

static const struct {
    const char *name;
    double weights, inputs;
} points[POINTS] = {POINT_LIST(POINT_X)};

/* a trajectory at a point, and all a policy makes of it, by the library and by hand */
typedef struct trial {
    model m;
    size_t dim, T;
    rn_real *theta, *u, *obs, *act, *w, *k, *g, *c, *h;
    wide *wtheta, *wu, *want_g, *want_c, *want_h, *grad, *hess;
    /* what errors are measured against: the sums of the terms' sizes */
    double size_g, size_c, size_h;
    void *work;
} trial;

static void *take(size_t n, size_t each) { return need(calloc(n + 1, each)); }

static void *aligned(void *p) { return (void *)(((uintptr_t)p + 63) & ~(uintptr_t)63); }

static void trial_open(trial *t, int which, int point, size_t T) {
    rng r = rng_make((uint64_t)(1000 * which + 100 * point) + T);
    const rn_policy *p = &t->m.policy;
    memset(t, 0, sizeof *t);
    case_make(&t->m, which);
    t->dim = p->dim;
    t->T = T;
    t->theta = (rn_real *)take(t->dim, sizeof *t->theta);
    t->u = (rn_real *)take(t->dim, sizeof *t->u);
    t->g = (rn_real *)take(t->dim, sizeof *t->g);
    t->h = (rn_real *)take(t->dim, sizeof *t->h);
    t->obs = (rn_real *)take(T * p->obs_dim, sizeof *t->obs);
    t->act = (rn_real *)take(T * p->act_dim, sizeof *t->act);
    t->w = (rn_real *)take(T, sizeof *t->w);
    t->k = (rn_real *)take(T, sizeof *t->k);
    t->c = (rn_real *)take(T, sizeof *t->c);
    t->wtheta = (wide *)take(t->dim, sizeof(wide));
    t->wu = (wide *)take(t->dim, sizeof(wide));
    t->want_g = (wide *)take(t->dim, sizeof(wide));
    t->want_h = (wide *)take(t->dim, sizeof(wide));
    t->want_c = (wide *)take(T, sizeof(wide));
    t->grad = (wide *)take(T * t->dim, sizeof(wide));
    t->hess = (wide *)take(T * t->dim, sizeof(wide));
    t->work = take(p->work_size(p->self, T) + 64, 1);
    fill_normal(t->theta, t->dim, &r, 0, points[point].weights);
    fill_normal(t->u, t->dim, &r, 0, 0.3);
    fill_normal(t->obs, T * p->obs_dim, &r, 0, points[point].inputs);
    fill_normal(t->act, T * p->act_dim, &r, 0, points[point].weights > 1 ? 4 : 1);
    fill_normal(t->w, T, &r, 0, 2);
    fill_normal(t->k, T, &r, 0, 2);
    for (size_t i = 0; i < T && p->actions; i++) t->act[i] = (rn_real)rng_below(&r, p->actions);
    for (size_t i = 0; i < T && t->m.table; i++) t->obs[i] = (rn_real)rng_below(&r, t->m.states);
    if (t->m.net.gaussian && !t->m.net.state_std) /* log-stds of e^6 would make z meaningless */
        for (size_t i = t->dim - t->m.net.outputs; i < t->dim; i++)
            t->theta[i] = (rn_real)(0.6 * rng_normal(&r));
    /* unlimited: keep it within e^+-2 */
    if (t->m.net.state_std && point != NEAR_ZERO && !(t->m.net.log_std_max > 0))
        for (size_t i = 0; i < t->dim; i++)
            t->theta[i] *= (rn_real)(points[point].inputs > 1 ? 0 : 0.2);
}

static void trial_close(trial *t) {
    void *all[17];
    size_t n = 0;
    all[n++] = t->theta;
    all[n++] = t->u;
    all[n++] = t->g;
    all[n++] = t->h;
    all[n++] = t->obs;
    all[n++] = t->act;
    all[n++] = t->w;
    all[n++] = t->k;
    all[n++] = t->c;
    all[n++] = t->wtheta;
    all[n++] = t->wu;
    all[n++] = t->want_g;
    all[n++] = t->want_h;
    all[n++] = t->want_c;
    all[n++] = t->grad;
    all[n++] = t->hess;
    all[n++] = t->work;
    while (n-- > 0) free(all[n]);
}

static void trial_by_hand(trial *t) {
    const rn_policy *p = &t->m.policy;
    for (size_t i = 0; i < t->dim; i++) {
        t->wtheta[i] = (wide)t->theta[i];
        t->wu[i] = (wide)t->u[i];
    }
    for (size_t s = 0; s < t->T; s++) {
        wide *grad = t->grad + s * t->dim, *hess = t->hess + s * t->dim, dots = 0;
        const wide w = (wide)t->w[s], k = (wide)t->k[s];
        t->want_c[s] = model_step(&t->m, t->wtheta, t->wu, t->obs + s * p->obs_dim,
                                  t->act + s * p->act_dim, grad, hess);
        for (size_t i = 0; i < t->dim; i++) {
            t->want_g[i] += w * grad[i];
            t->want_h[i] += w * hess[i] + k * grad[i];
            dots += wide_abs(grad[i] * t->wu[i]);
        }
        if ((double)dots > t->size_c) t->size_c = (double)dots;
        t->size_g += (double)(wide_abs(w) * wide_max(grad, t->dim));
        t->size_h +=
            (double)(wide_abs(w) * wide_max(hess, t->dim) + wide_abs(k) * wide_max(grad, t->dim));
    }
}

static void trial_by_library(trial *t) {
    const rn_policy *p = &t->m.policy;
    void *work = aligned(t->work);
    p->grad(p->self, t->theta, t->T, t->obs, t->act, t->w, t->g, work);
    p->dot(p->self, t->theta, t->u, t->T, t->obs, t->act, t->c, work);
    p->hvp(p->self, t->theta, t->u, t->T, t->obs, t->act, t->w, t->k, t->h, work);
}

/* Errors allowed, in EPS of the sums of the terms' sizes. At extreme points the sizes are tiny (a
   saturated unit has no slope) while rounding stays that of its inputs: there the weights' own size
   counts too. */
static const double allowed[POINTS] = {20, 8, 30, 8};

TEST derivatives(int which, int point, size_t T) {
    trial t;
    double g, c, h, floor_size = 1e-3; /* for derivatives that are 0 */
    trial_open(&t, which, point, T);
    trial_by_hand(&t);
    trial_by_library(&t);
    if (point > NEAR_ZERO) {
        const double most = (double)wide_max(t.wtheta, t.dim) * points[point].inputs;
        for (size_t s = 0; s < T; s++) floor_size += fabs((double)t.w[s]) + fabs((double)t.k[s]);
        floor_size *= most * most;
    }
    g = distance(t.g, t.want_g, t.dim) / (EPS * (t.size_g + floor_size));
    c = distance(t.c, t.want_c, T) / (EPS * (t.size_c + floor_size));
    h = distance(t.h, t.want_h, t.dim) / (EPS * (t.size_h + floor_size));
    if (GREATEST_IS_VERBOSE())
        printf("    %-32s %-11s T %3u: g %8.2f  c %8.2f  h %8.2f\n", case_name(which),
               points[point].name, (unsigned)T, g, c, h);
    trial_close(&t);
    if (!(g <= allowed[point] && c <= allowed[point] && h <= allowed[point]))
        FAILm(WHY("%s, %s, T %u: grad %g, dot %g, hvp %g EPS", case_name(which), points[point].name,
                  (unsigned)T, g, c, h));
    PASS();
}

static void trial_hessian_product(const trial *t, const rn_policy *p, int causal, rn_real *k,
                                  rn_real *c, rn_real *tmp, rn_real *v) {
    rn_hessian_product b = {p,      t->theta, t->u, t->T, t->obs, t->act, t->w,
                            causal, k,        c,    tmp,  NULL,   0,      0};
    b.work = aligned(t->work);
    rn_add_hessian_product(&b, v);
}

/* grad and hvp add to what is there; k may be NULL; B u in both forms is its definition */
TEST sums_and_forms(int which) {
    trial t;
    wide w[8], bu[512];
    rn_real v[512], k[8], c[8];
    double e;
    trial_open(&t, which, USUAL, 8);
    ASSERT(t.dim <= 512);
    trial_by_hand(&t);
    fill_number(t.g, t.dim, 3);
    fill_number(t.h, t.dim, 3);
    trial_by_library(&t);
    for (size_t i = 0; i < t.dim; i++) {
        t.want_g[i] += 3;
        t.want_h[i] += 3;
    }
    ASSERT(distance(t.g, t.want_g, t.dim) < 100 * EPS * (3 + t.size_g));
    ASSERT(distance(t.h, t.want_h, t.dim) < 100 * EPS * (3 + t.size_h));
    for (size_t s = 0; s < t.T; s++) {
        w[s] = (wide)t.w[s];
        for (size_t i = 0; i < t.dim; i++) t.want_h[i] -= (wide)t.k[s] * t.grad[s * t.dim + i];
    }
    fill_number(t.h, t.dim, 3);
    {
        const rn_policy *p = &t.m.policy;
        p->dot(p->self, t.theta, t.u, t.T, t.obs, t.act, t.c, aligned(t.work));
        p->hvp(p->self, t.theta, t.u, t.T, t.obs, t.act, t.w, NULL, t.h, aligned(t.work));
    }
    ASSERT(distance(t.h, t.want_h, t.dim) < 100 * EPS * (3 + t.size_h));
    for (int causal = 0; causal < 2; causal++) {
        model_bu(&t.m, t.wtheta, t.wu, t.T, t.obs, t.act, w, causal ? 1 : -1, bu);
        fill_number(v, t.dim, 0);
        trial_hessian_product(&t, &t.m.policy, causal, k, c, NULL, v);
        e = distance(v, bu, t.dim) / (EPS * (t.size_h + t.size_g * 8 * t.size_c + 1e-3));
        if (!(e < 60)) FAILm(WHY("%s: B u, %g EPS", case_name(which), e));
    }
    trial_close(&t);
    PASS();
}

/* a host's policy with act and grad alone */
TEST without_hvp_differences_serve(int which) {
    trial t;
    rn_policy bare;
    wide w[8], bu[512];
    rn_real v[512], k[8], c[8], tmp[3 * 512];
    trial_open(&t, which, USUAL, 8);
    trial_by_hand(&t);
    bare = t.m.policy;
    bare.dot = NULL;
    bare.hvp = NULL;
    for (size_t s = 0; s < t.T; s++) w[s] = (wide)t.w[s];
    for (int causal = 0; causal < 2; causal++)
        for (int with_dot = 0; with_dot < 2; with_dot++) {
            double e;
            bare.dot = with_dot ? t.m.policy.dot : NULL;
            model_bu(&t.m, t.wtheta, t.wu, t.T, t.obs, t.act, w, causal ? 1 : -1, bu);
            fill_number(v, t.dim, 0);
            trial_hessian_product(&t, &bare, causal, k, c, tmp, v);
            e = distance(v, bu, t.dim) / (t.size_h + t.size_g * 8 * t.size_c + 1e-3);
            if (GREATEST_IS_VERBOSE()) printf("    %-32s %.1e\n", case_name(which), e);
            /* the best a central difference can do is about EPS^(2/3) */
            if (!(e < pow(EPS, 0.6)))
                FAILm(WHY("%s: B u by differences misses by %g", case_name(which), e));
            ASSERT(distance(c, t.want_c, t.T) < 100 * EPS * (1 + t.size_c));
        }
    trial_close(&t);
    PASS();
}

TEST work_may_hold_anything(int which) {
    trial t;
    rn_real g[512], h[512], c[8];
    trial_open(&t, which, USUAL, 8);
    trial_by_library(&t);
    memcpy(g, t.g, t.dim * sizeof *g);
    memcpy(h, t.h, t.dim * sizeof *h);
    memcpy(c, t.c, sizeof c);
    memset(t.work, 0xff, t.m.policy.work_size(t.m.policy.self, 8) + 64); /* NaN everywhere */
    fill_number(t.g, t.dim, 0);
    fill_number(t.h, t.dim, 0);
    trial_by_library(&t);
    ASSERT(same_bits(g, t.g, t.dim) && same_bits(h, t.h, t.dim) && same_bits(c, t.c, 8));
    trial_close(&t);
    PASS();
}

/* ---- act */
static uint64_t fixed_next(void *self) { return *(uint64_t *)self; }

static double cumulative(const trial *t, const rn_real *obs, size_t upto) {
    wide sum = 0;
    for (size_t a = 0; a < upto; a++) sum += model_probability(&t->m, t->theta, obs, (wide)a);
    return (double)sum;
}

/* a uniform number just below and just above each running sum of the probabilities: the action must
   change there */
TEST act_inverts_the_distribution(int which) {
    trial t;
    size_t size;
    void *work;
    trial_open(&t, which, USUAL, 4);
    size = rn_policy_work_size(&t.m.policy, 0);
    work = need(malloc(size));
    for (size_t s = 0; s < 4; s++)
        for (size_t a = 0; a < t.m.policy.actions; a++) {
            const rn_real *obs = t.obs + s * t.m.policy.obs_dim;
            const double low = cumulative(&t, obs, a), high = cumulative(&t, obs, a + 1);
            const double edge = 40 * EPS;
            if (high - low < 4 * edge) continue;
            for (int side = 0; side < 3; side++) {
                const double u = side == 0   ? low + edge
                                 : side == 1 ? high - edge
                                             : (low + high) / 2;
                uint64_t bits = (uint64_t)(u * 9007199254740992.0) << 11;
                agg_rng r;
                rn_real act = -1;
                r.next = fixed_next;
                r.self = &bits;
                ASSERT_EQ(RN_OK, rn_policy_act(&t.m.policy, t.theta, obs, &r, &act, work, size));
                if (!((double)act <= (double)a && (double)act >= (double)a))
                    FAILm(WHY("%s: at %g action %g, not %u", case_name(which), u, (double)act,
                              (unsigned)a));
            }
        }
    free(work);
    trial_close(&t);
    PASS();
}

/* frequencies of 100000 samples within 5 standard deviations (a chance of 6e-7 each, and the seeds
   are fixed) */
TEST act_samples_the_probabilities(int which) {
    enum { SAMPLES = 100000 };

    trial t;
    rn_random random = rn_make_random(9, (uint32_t)which);
    const agg_rng r = rn_random_rng(&random);
    size_t count[HEAD_MAX] = {0}, size;
    void *work;
    const size_t n = rounds(SAMPLES);
    trial_open(&t, which, USUAL, 1);
    size = rn_policy_work_size(&t.m.policy, 0);
    work = need(malloc(size));
    for (size_t i = 0; i < n; i++) {
        rn_real act = -1;
        ASSERT_EQ(RN_OK, rn_policy_act(&t.m.policy, t.theta, t.obs, &r, &act, work, size));
        ASSERT(act >= 0 && act < (rn_real)t.m.policy.actions);
        count[(size_t)act]++;
    }
    for (size_t a = 0; a < t.m.policy.actions; a++) {
        const double p = (double)model_probability(&t.m, t.theta, t.obs, (wide)a),
                     f = (double)count[a] / (double)n;
        if (!(fabs(f - p) <= 5 * sqrt(p * (1 - p) / (double)n) + 1e-7))
            FAILm(WHY("%s: action %u, probability %g, frequency %g", case_name(which), (unsigned)a,
                      p, f));
    }
    free(work);
    trial_close(&t);
    PASS();
}

/* mean, variance, third and fourth moment of (a - mu)/std, and no correlation between the numbers
   of an action */
TEST act_samples_the_normal(int which) {
    trial t;
    rn_random random = rn_make_random(10, (uint32_t)which);
    const agg_rng r = rn_random_rng(&random);
    const size_t n = rounds(40000);
    double sum[4][HEAD_MAX] = {{0}}, cross = 0;
    hyper th[512], x[HEAD_MAX], y[HEAD_MAX];
    size_t size, k;
    void *work;
    trial_open(&t, which, USUAL, 1);
    k = t.m.net.outputs;
    size = rn_policy_work_size(&t.m.policy, 0);
    work = need(malloc(size));
    for (size_t i = 0; i < t.dim; i++) th[i] = hy((wide)t.theta[i]);
    hy_obs(t.obs, t.m.policy.obs_dim, x);
    model_head(&t.m, th, x, y);
    for (size_t i = 0; i < n; i++) {
        rn_real act[HEAD_MAX];
        double z[HEAD_MAX];
        ASSERT_EQ(RN_OK, rn_policy_act(&t.m.policy, t.theta, t.obs, &r, act, work, size));
        for (size_t j = 0; j < k; j++) {
            z[j] = ((double)act[j] - (double)y[j].v) * exp(-(double)y[k + j].v);
            for (int m = 0; m < 4; m++) sum[m][j] += pow(z[j], m + 1) / (double)n;
        }
        if (k > 1) cross += z[0] * z[1] / (double)n;
    }
    for (size_t j = 0; j < k; j++) { /* variances of z, z^2, z^3, z^4: 1, 2, 15, 96 */
        const double root = 5 / sqrt((double)n);
        ASSERT(fabs(sum[0][j]) < root);
        ASSERT(fabs(sum[1][j] - 1) < root * sqrt(2.0));
        ASSERT(fabs(sum[2][j]) < root * sqrt(15.0));
        ASSERT(fabs(sum[3][j] - 3) < root * sqrt(96.0));
        ASSERT(fabs(cross) < root);
    }
    free(work);
    trial_close(&t);
    PASS();
}

TEST greedy_is_the_most_likely(int which) {
    for (int point = 0; point < POINTS; point++) {
        trial t;
        size_t size;
        void *work;
        trial_open(&t, which, point, 8);
        size = rn_policy_work_size(&t.m.policy, 0);
        work = need(malloc(size));
        for (size_t s = 0; s < 8; s++) {
            const rn_real *obs = t.obs + s * t.m.policy.obs_dim;
            rn_real act[HEAD_MAX];
            hyper th[512], x[HEAD_MAX], y[HEAD_MAX];
            for (size_t i = 0; i < t.dim; i++) th[i] = hy((wide)t.theta[i]);
            hy_obs(obs, t.m.policy.obs_dim, x);
            model_head(&t.m, th, x, y);
            ASSERT_EQ(RN_OK, rn_policy_act(&t.m.policy, t.theta, obs, NULL, act, work, size));
            if (t.m.policy.actions) {
                const wide got = y[(size_t)act[0]].v;
                wide mass = 1;
                for (size_t i = 0; i < t.m.policy.actions; i++) mass += wide_abs(y[i].v);
                for (size_t a = 0; a < t.m.policy.actions; a++)
                    ASSERT(got >=
                           y[a].v - 100 * (wide)REAL_EPS * mass * (wide)points[point].inputs);
            } else {
                for (size_t j = 0; j < t.m.policy.act_dim; j++)
                    ASSERT(wide_abs((wide)act[j] - y[j].v) <= 100 * (wide)REAL_EPS *
                                                                  (1 + wide_abs(y[j].v)) *
                                                                  (wide)points[point].inputs);
            }
        }
        free(work);
        trial_close(&t);
    }
    PASS();
}

TEST clipped_samples_stay_inside(void) {
    rn_net_desc d = net_desc(1, 2, 0, 0, RN_TANH);
    rn_random random = rn_make_random(3, 0);
    const agg_rng r = rn_random_rng(&random);
    size_t at_limit = 0;
    unsigned char work[4096];
    rn_real theta[6] = {1, -1, 0, 0, 0, 0}, obs = (rn_real)0.25;
    model m;
    d.gaussian = 1;
    d.clip = 0.5;
    model_net(&m, &d);
    ASSERT_EQ((size_t)6, m.policy.dim);
    for (int i = 0; i < 2000; i++) {
        rn_real act[2];
        ASSERT_EQ(RN_OK, rn_policy_act(&m.policy, theta, &obs, &r, act, work, sizeof work));
        ASSERT(act[0] >= (rn_real)-0.5 && act[0] <= (rn_real)0.5 && act[1] >= (rn_real)-0.5 &&
               act[1] <= (rn_real)0.5);
        at_limit += act[0] >= (rn_real)0.5 || act[0] <= (rn_real)-0.5;
    }
    ASSERT(at_limit > 1000 && at_limit < 1500); /* P(|z + 0.25| > 0.5) = 0.628 */
    PASS();
}

/* ---- shapes, start, refusals */
TEST layout_of_theta(void) {
    rn_net net;
    rn_table table;
    rn_net_desc d = net_desc(4, 2, 16, 16, RN_TANH);
    ASSERT_EQ((size_t)386, rn_make_net_policy(&net, &d).dim); /* the paper's CartPole net */
    ASSERT_EQ((size_t)3, net.layers);
    ASSERT_EQ((size_t)0, net.offset[0]);
    ASSERT_EQ((size_t)80, net.offset[1]);
    ASSERT_EQ((size_t)352, net.offset[2]);
    d.gaussian = 1;
    ASSERT_EQ((size_t)388, rn_make_net_policy(&net, &d).dim);
    ASSERT_EQ((size_t)2, rn_make_net_policy(&net, &d).act_dim);
    d.state_std = 1;
    ASSERT_EQ((size_t)(386 + 34), rn_make_net_policy(&net, &d).dim);
    d.no_bias = 1;
    ASSERT_EQ((size_t)(64 + 256 + 64), rn_make_net_policy(&net, &d).dim);
    d.hidden[0] = 0; /* nothing behind the first 0 counts */
    ASSERT_EQ((size_t)16, rn_make_net_policy(&net, &d).dim);
    ASSERT_EQ((size_t)15, rn_make_table_policy(&table, 5, 3).dim);
    PASS();
}

TEST init_by_seed(void) {
    rn_net net;
    rn_net_desc d = net_desc(3, 2, 5, 0, RN_TANH);
    rn_real a[64], b[64], c[64];
    rn_random one = rn_make_random(1, 0), same = rn_make_random(1, 0), two = rn_make_random(2, 0);
    agg_rng r1 = rn_random_rng(&one), r2 = rn_random_rng(&same), r3 = rn_random_rng(&two);
    rn_policy p;
    double most = 0;
    d.gaussian = 1;
    d.log_std = -0.5;
    d.out_scale = 0.01;
    p = rn_make_net_policy(&net, &d);
    p.init(p.self, &r1, a);
    p.init(p.self, &r2, b);
    p.init(p.self, &r3, c);
    ASSERT(same_bits(a, b, p.dim));
    ASSERT(!same_bits(a, c, p.dim));
    for (size_t i = 0; i < 15; i++)
        if (fabs((double)a[i]) > most) most = fabs((double)a[i]);
    ASSERT(most > 0.5 && most <= 1 + EPS);                            /* uniform in +-sqrt(3/3) */
    for (size_t i = 15; i < 20; i++) ASSERT(!(a[i] > 0 || a[i] < 0)); /* biases */
    for (size_t i = 20; i < 30; i++) ASSERT(fabs((double)a[i]) <= 0.01 * sqrt(0.6) * (1 + EPS));
    for (size_t i = 32; i < 34; i++) ASSERT(a[i] <= (rn_real)-0.5 && a[i] >= (rn_real)-0.5);
    d.state_std = 1;
    p = rn_make_net_policy(&net, &d);
    p.init(p.self, &r1, a);
    ASSERT(a[p.dim - 1] <= (rn_real)-0.5 && a[p.dim - 1] >= (rn_real)-0.5); /* through the bias */
    ASSERT(!(a[p.dim - 3] > 0 || a[p.dim - 3] < 0));
    PASS();
}

TEST unusable_shapes_are_refused(void) {
    const rn_net_desc good = net_desc(3, 2, 5, 0, RN_TANH);
    rn_net net;
    rn_table table;
    for (int k = 0; k < 14; k++) {
        rn_net_desc d = good;
        switch (k) {
        case 0: d.obs_dim = 0; break;
        case 1: d.outputs = 0; break;
        case 2: d.activation = (rn_activation)7; break;
        case 3: d.log_std = (double)NAN; break;
        case 4: d.log_std_min = 1; break; /* above max = 0 */
        case 5: d.log_std_max = (double)NAN; break;
        case 6: d.clip = -1; break;
        case 7: d.clip = (double)NAN; break;
        case 8: d.out_scale = (double)INFINITY; break;
        case 9: d.out_scale = -1; break;
        case 10: d.obs_dim = (size_t)-1; break;
        case 11: d.hidden[0] = (size_t)-1; break;
        case 12: d.log_std_min = (double)NAN; break;
        default: d.outputs = ((size_t)-1) / 2; break;
        }
        if (rn_make_net_policy(&net, &d).dim != 0) FAILm(WHY("case %d is taken", k));
    }
    ASSERT(rn_make_net_policy(&net, &good).dim > 0);
    ASSERT_EQ((size_t)0, rn_make_table_policy(&table, 0, 2).dim);
    ASSERT_EQ((size_t)0, rn_make_table_policy(&table, 2, 0).dim);
    ASSERT_EQ((size_t)0, rn_make_table_policy(&table, (size_t)-1, 4).dim);
    PASS();
}

TEST act_by_hand_checks_its_arguments(void) {
    unsigned char work[4096];
    rn_net_desc d = net_desc(2, 3, 4, 0, RN_TANH);
    rn_real theta[64] = {0}, obs[2] = {1, 2}, act = 7;
    model m;
    size_t size;
    model_net(&m, &d);
    size = rn_policy_work_size(&m.policy, 0);
    ASSERT(size > 0 && size <= sizeof work && rn_policy_work_size(&m.policy, 50) > size);
    ASSERT_EQ(RN_ERR_ARG, rn_policy_act(NULL, theta, obs, NULL, &act, work, size));
    ASSERT_EQ(RN_ERR_ARG, rn_policy_act(&m.policy, NULL, obs, NULL, &act, work, size));
    ASSERT_EQ(RN_ERR_ARG, rn_policy_act(&m.policy, theta, NULL, NULL, &act, work, size));
    ASSERT_EQ(RN_ERR_ARG, rn_policy_act(&m.policy, theta, obs, NULL, NULL, work, size));
    ASSERT_EQ(RN_ERR_MEMORY, rn_policy_act(&m.policy, theta, obs, NULL, &act, NULL, 0));
    ASSERT_EQ(RN_ERR_MEMORY, rn_policy_act(&m.policy, theta, obs, NULL, &act, work, 64));
    ASSERT(act >= 7 && act <= 7);
    memset(work, CANARY, sizeof work);
    /* any start address */
    ASSERT_EQ(RN_OK, rn_policy_act(&m.policy, theta, obs, NULL, &act, work + 1, size));
    for (size_t i = 1 + size; i < sizeof work; i++) ASSERT_EQ(CANARY, work[i]);
    ASSERT_EQ(CANARY, work[0]);
    ASSERT_EQ((size_t)0, rn_policy_work_size(&m.policy, (size_t)-1 / 4)); /* too large */
    PASS();
}

SUITE(exact_derivatives) {
    static const size_t lengths[] = {1, 2, 5, 63, 64, 65, 70, 130};
    for (int which = 0; which <= TABLE_CASE; which++)
        for (int point = 0; point < POINTS; point++)
            for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
                model m;
                case_make(&m, which);
                /* the hand is slow */
                if (lengths[i] > 5 && (m.policy.dim > 120 || point != USUAL)) continue;
                if (lengths[i] > 70 && m.policy.dim > 60) continue;
                RUN_TESTp(derivatives, which, point, lengths[i]);
            }
}

SUITE(forms) {
    for (int which = 0; which <= TABLE_CASE; which++) {
        RUN_TESTp(sums_and_forms, which);
        RUN_TESTp(work_may_hold_anything, which);
        if (which == TABLE_CASE || cases[which].activation != RN_RELU)
            RUN_TESTp(without_hvp_differences_serve, which);
    }
}

SUITE(acting) {
    for (int which = 0; which <= TABLE_CASE; which++) {
        RUN_TESTp(greedy_is_the_most_likely, which);
        if (which != TABLE_CASE && cases[which].gaussian)
            RUN_TESTp(act_samples_the_normal, which);
        else {
            RUN_TESTp(act_inverts_the_distribution, which);
            RUN_TESTp(act_samples_the_probabilities, which);
        }
    }
    RUN_TEST(clipped_samples_stay_inside);
}

SUITE(shapes) {
    RUN_TEST(layout_of_theta);
    RUN_TEST(init_by_seed);
    RUN_TEST(unusable_shapes_are_refused);
    RUN_TEST(act_by_hand_checks_its_arguments);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(exact_derivatives);
    RUN_SUITE(forms);
    RUN_SUITE(acting);
    RUN_SUITE(shapes);
    GREATEST_MAIN_END();
}
