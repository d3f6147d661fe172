/* How fast is learning? Ratios from one run, one thread, float:
     1. CartPole with a network of 4-16-16-2: acting, gradient and Hessian product beside the bare
        environment step and beside a forward pass over the same trajectory
     2. a whole round of Res-NHARPG at full-length trajectories, and the share of the aggregator in
        it
     3. networks of 64-64 and 256-256 with a Gaussian head: gradient and Hessian product beside the
        arithmetic limit of the machine, and, where AVX2 is found at run time, beside the same
        without it
   Others use the machine too: contenders take turns, the thread is timed by its own clock, the
   least time counts. BENCH_QUICK=1 shortens it. */
#include "bench.h"
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "examples/envs/cartpole.h"

enum { AGENTS = 10, F = 3, LEARN = 200 };

/* ---- a trajectory and what can be done with it */
typedef struct workload {
    rn_net net;
    rn_policy policy;
    rn_env env; /* CartPole only */
    size_t T;
    rn_real *theta, *u, *obs, *act, *w, *k, *c, *g, *tmp;
    void *work;
    rn_random random;
} workload;

static rn_real *numbers(size_t n) { return (rn_real *)bench_alloc(n, sizeof(rn_real)); }

static void workload_make(workload *t, const rn_net_desc *shape, size_t T) {
    uint64_t seed = 1;
    memset(t, 0, sizeof *t);
    t->policy = rn_make_net_policy(&t->net, shape);
    t->T = T;
    t->random = rn_make_random(7, 0);
    const agg_rng rng = rn_random_rng(&t->random);
    const size_t dim = t->policy.dim;
    t->theta = numbers(dim);
    t->u = numbers(dim);
    t->g = numbers(dim);
    t->tmp = numbers(3 * dim + 8 * T);
    t->obs = numbers((T + 1) * t->policy.obs_dim);
    t->act = numbers(T * t->policy.act_dim);
    t->w = numbers(T);
    t->k = numbers(T);
    t->c = numbers(T);
    t->work = bench_alloc(rn_policy_work_size(&t->policy, T), 1); /* as long as the program */
    t->work = (char *)t->work + (64 - (uintptr_t)t->work % 64) % 64;
    t->policy.init(t->policy.self, &rng, t->theta);
    for (size_t i = 0; i < dim; i++) t->u[i] = (rn_real)(0.01 * bench_gauss(&seed));
    for (size_t i = 0; i < T; i++) {
        t->w[i] = (rn_real)bench_gauss(&seed);
        t->k[i] = (rn_real)bench_gauss(&seed);
    }
    for (size_t i = 0; i < T * t->policy.obs_dim; i++) t->obs[i] = (rn_real)bench_gauss(&seed);
    for (size_t i = 0; i < T * t->policy.act_dim; i++)
        t->act[i] = (rn_real)(shape->gaussian ? bench_gauss(&seed) : 0);
}

static void run_act(workload *t) {
    const agg_rng rng = rn_random_rng(&t->random);
    t->policy.prepare(t->policy.self, t->theta, t->work);
    for (size_t i = 0; i < t->T; i++)
        t->policy.act(t->policy.self, t->theta, t->obs + i * t->policy.obs_dim, &rng, t->tmp + i,
                      t->work);
    bench_sink = (float)t->tmp[t->T - 1];
}

/* The API has no forward pass alone, because nobody needs one: this is the first half of what grad
   does, made of the header's own parts. */
/* clang-format off */

#define FORWARD(suffix, attribute, vec)                                                            \
    attribute BENCH_UNUSED static void forward##suffix(workload *t) {                              \
        rni_pass p;                                                                                \
        memset(&p, 0, sizeof p);                                                                   \
        p.net = &t->net;                                                                           \
        p.obs = t->obs;                                                                            \
        p.w = rni_net_start(&t->net, t->theta, t->T, t->work);                                     \
        RNI_FOR_BLOCKS(&p, 0, t->T) {                                                              \
            rni_net_forward(rni_is##suffix, &p);                                                   \
            rni_net_head(&p);                                                                      \
        }                                                                                          \
    }
/* clang-format on */
AGGI_TWINS(FORWARD, rni_vec, aggi_wide)

static void run_forward(workload *t) { AGGI_TWIN(AGGI_HAS_AVX2, forward)(t); }

static void run_grad(workload *t) {
    t->policy.grad(t->policy.self, t->theta, t->T, t->obs, t->act, t->w, t->g, t->work);
}

/* everything that B u takes: dot, the weights of the steps, hvp */
static void run_bu(workload *t) {
    const rn_hessian_product b = {&t->policy, t->theta, t->u, t->T,   t->obs,  t->act, t->w,
                                  1,          t->k,     t->c, t->tmp, t->work, 0,      0};
    rn_add_hessian_product(&b, t->g);
}

/* both without AVX2, where the build has it as a choice */
static void run_base(workload *t) {
    const rn_policy chosen = t->policy;
    t->policy.grad = rni_net_grad_base;
    t->policy.dot = rni_net_dot_base;
    t->policy.hvp = rni_net_hvp_base;
    run_grad(t);
    run_bu(t);
    t->policy = chosen;
}

/* All leave obs and act as they are, so that everybody works on the same trajectory. */
static const cartpole upright = {0.01, 0.02, -0.03, 0.01, 0};

/* the recorded trajectory once more: the same start, the same actions */
static void run_bare(workload *t) {
    const agg_rng rng = rn_random_rng(&t->random);
    double reward;
    *(cartpole *)t->env.self = upright;
    for (size_t i = 0; i < t->T; i++) t->env.step(t->env.self, t->act + i, &rng, t->tmp, &reward);
    bench_sink = (float)t->tmp[0];
}

static void rollout(workload *t, rn_real *obs, rn_real *act) {
    const agg_rng rng = rn_random_rng(&t->random);
    double reward;
    *(cartpole *)t->env.self = upright;
    cartpole_observe(&upright, obs);
    t->policy.prepare(t->policy.self, t->theta, t->work);
    for (size_t i = 0; i < t->T; i++) {
        t->policy.act(t->policy.self, t->theta, obs + 4 * i, &rng, act + i, t->work);
        t->env.step(t->env.self, act + i, &rng, obs + 4 * (i + 1), &reward);
    }
}

static void run_rollout(workload *t) { rollout(t, t->tmp, t->tmp + 4 * (t->T + 1)); }

/* ---- taking turns */
typedef struct contender {
    void (*run)(workload *t);
    double seconds; /* least time of one call */
} contender;

static void race(workload *t, contender *c, int count) {
    bench_stat b[8];
    memset(b, 0, sizeof b);
    for (int round = 0; round < (bench_quick() ? 15 : 60); round++)
        for (int i = 0; i < count; i++) {
            double start;
            int calls = 20;
            c[i].run(t); /* warm */
            start = bench_cpu();
            for (int k = 0; k < calls; k++) c[i].run(t);
            bench_add(&b[i], (bench_cpu() - start) / calls);
        }
    for (int i = 0; i < count; i++) c[i].seconds = bench_min(&b[i]);
}

static void print_step(const char *what, double seconds, size_t T, double ratio, const char *of,
                       double target) {
    printf("  %-34s %8.1f ns", what, seconds / (double)T * 1e9);
    if (of) printf("  %6.2f x %s", ratio, of);
    if (target > 0) printf(", target %.1f %s", target, ratio <= target ? "holds" : "MISSED");
    printf("\n");
}

/* ---- 1 and 2. CartPole */
/* a policy that balances, so that trajectories are long */
static rn_trainer *learn(workload *t, cartpole *poles) {
    rn_env envs[AGENTS];
    rn_trainer *trainer = NULL;
    for (int i = 0; i < AGENTS; i++) envs[i] = cartpole_env(&poles[i]);
    rn_trainer_desc d = rn_make_trainer_desc(AGENTS, F, envs, t->policy);
    d.method.batch = 2; /* as when the times of the README were taken */
    d.server.agg.pre[1] = AGG_PRE_NONE;
    /* never 0: a theta that stands still saves the second trajectory */
    d.server.gamma = rn_schedule_linear(0.08, 1e-6, LEARN);
    d.adversaries = F;
    rn_status s = rn_trainer_create(&trainer, &d);
    for (int round = 0; s == RN_OK && round < LEARN; round++) s = rn_trainer_run_round(trainer);
    if (s != RN_OK) {
        fprintf(stderr, "bench: %s\n", rn_status_text(s));
        exit(1);
    }
    memcpy(t->theta, rn_trainer_theta(trainer), t->policy.dim * sizeof(rn_real));
    return trainer;
}

static void bench_steps(workload *t) {
    contender c[] = {{run_bare, 0},    {run_act, 0},  {run_rollout, 0},
                     {run_forward, 0}, {run_grad, 0}, {run_bu, 0}};
    fprintf(stderr, "steps of CartPole ...\n");
    rollout(t, t->obs, t->act);
    race(t, c, 6);
    printf("\nCartPole, network 4-16-16-2 (%d parameters), trajectory of %d steps: time per step\n",
           (int)t->policy.dim, (int)t->T);
    print_step("bare environment step", c[0].seconds, t->T, 0, NULL, 0);
    print_step("acting alone", c[1].seconds, t->T, c[1].seconds / c[0].seconds, "environment step",
               3); /* 60 ns where the step takes 20 */
    print_step("acting and stepping", c[2].seconds, t->T, c[2].seconds / c[0].seconds,
               "environment step", 0);
    print_step("forward pass over the trajectory", c[3].seconds, t->T, 0, NULL, 0);
    print_step("grad, forward pass included", c[4].seconds, t->T, c[4].seconds / c[3].seconds,
               "forward pass", 3.5);
    print_step("B u (dot and hvp), all included", c[5].seconds, t->T, c[5].seconds / c[3].seconds,
               "forward pass", 9);
    printf("  (the forward pass is the first part of grad: the API has none alone)\n");
}

/* MDA on what the agents would send now */
static double aggregate_seconds(rn_trainer *trainer, size_t dim) {
    agg_desc d = agg_make_desc(AGG_MDA, AGENTS, dim, F);
    const rn_real *rows[AGENTS];
    bench_stat b = {{0}, 0};
    rn_real *attacks = numbers(F * dim), *out = numbers(dim);
    void *scratch = bench_alloc(agg_scratch_size(&d), 1);
    for (size_t i = 0; i < AGENTS; i++) {
        rows[i] = rn_agent_direction(rn_trainer_agent(trainer, i));
        if (i < AGENTS - F) continue;
        rn_real *attack = attacks + (i - (AGENTS - F)) * dim;
        for (size_t k = 0; k < dim; k++) attack[k] = (rn_real)-2.5 * rows[i][k];
        rows[i] = attack;
    }
    for (int i = 0; i < 50; i++) {
        double start = bench_cpu();
        for (int k = 0; k < 20; k++)
            agg_aggregate(&d, rows, out, scratch, agg_scratch_size(&d), NULL);
        bench_add(&b, (bench_cpu() - start) / 20);
    }
    free(attacks);
    free(out);
    free(scratch);
    return bench_min(&b);
}

static void bench_round(rn_trainer *trainer, size_t dim) {
    /* seconds a round took their program on two x86-64 cores with AVX-512: a stored figure, so on
       another machine the factor compares machines too */
    const double authors = 3.8;
    double best = 1e9, step = 0;
    fprintf(stderr, "whole rounds ...\n");
    /* the best by the step: now and then a pole falls early */
    for (int i = 0; i < (bench_quick() ? 20 : 200); i++) {
        const double before = (double)rn_trainer_progress(trainer)->env_steps, start = bench_cpu();
        if (rn_trainer_run_round(trainer) != RN_OK) exit(1);
        const double seconds = bench_cpu() - start;
        const double steps = (double)rn_trainer_progress(trainer)->env_steps - before;
        if (seconds / steps < best) best = seconds / steps, step = steps;
    }
    const double round = best * AGENTS * 2 * 500, share = aggregate_seconds(trainer, dim) / round;
    printf("\na round of Res-NHARPG: %d agents, two trajectories of 500 steps each, MDA (best "
           "round had %.0f of %d steps)\n"
           "  %.2f ms, %.1f ns for each environment step, everything included, target 1.5 ms %s\n",
           AGENTS, step, AGENTS * 1000, round * 1e3, best * 1e9,
           round <= 1.5e-3 ? "holds" : "MISSED");
    printf("  %.0f x faster than the %.1f s of the authors' program (stored figure, two cores with "
           "AVX-512), target 1000 %s\n",
           authors / round, authors, authors / round >= 1000 ? "holds" : "MISSED");
    printf("  MDA takes %.2f %% of the round, target 5 %s\n", share * 100,
           share < 0.05 ? "holds" : "MISSED");
}

/* ---- 3 a larger network */
static void print_rate(const char *what, double seconds, double madds, double peak, double target) {
    const double rate = madds / seconds, share = rate / peak * 100;
    printf("  %-8s %8.1f us  %6.1f GFlop/s  %5.1f %% of the limit", what, seconds * 1e6,
           2e-9 * rate, share);
    if (target > 0) printf(", target %.0f %s", target, share >= target ? "holds" : "MISSED");
    printf("\n");
}

static void bench_large(size_t width) {
    rn_net_desc shape = rn_make_net_desc(11, 3);
    contender c[] = {{run_forward, 0}, {run_grad, 0}, {run_bu, 0}, {run_base, 0}};
    const char *with;
    workload t;
    double peak = bench_peak(&with), madds = 0;
    const double target = 65;
    fprintf(stderr, "the network of %d ...\n", (int)width);
    shape.hidden[0] = shape.hidden[1] = width;
    shape.gaussian = 1;
    workload_make(&t, &shape, width == 64 ? 1000 : 200);
    race(&t, c, AGGI_HAS_AVX2 ? 4 : 3);
    peak = fmax(peak, bench_peak(&with)); /* before and after: the clock may change */
    for (size_t l = 0; l < t.net.layers; l++) madds += (double)(t.net.in[l] * t.net.out[l]);
    const double first = (double)(t.net.in[0] * t.net.out[0]), T = (double)t.T;
    printf("\nnetwork 11-%d-%d-3, Gaussian, %d steps; the limit: %.0f GFlop/s (%s)\n", (int)width,
           (int)width, (int)t.T, 2e-9 * peak, with);
    printf("  multiply-adds a step, M = sum of in*out = %.0f, M1 = %.0f of the first layer: "
           "forward M, grad 3M - M1, B u 8M - 5M1\n",
           madds, first);
    print_rate("forward", c[0].seconds, T * madds, peak, 0);
    print_rate("grad", c[1].seconds, T * (3 * madds - first), peak, target);
    print_rate("B u", c[2].seconds, T * (8 * madds - 5 * first), peak, target);
    if (!AGGI_HAS_AVX2) return;
    const double ratio = c[3].seconds / (c[1].seconds + c[2].seconds);
    printf("  both without AVX2: %.2f x the time, target 2 %s\n", ratio,
           ratio <= 2 ? "holds" : "MISSED");
}

int main(int argc, char **argv) {
    static cartpole poles[AGENTS];
    rn_net_desc shape = rn_make_net_desc(4, 2);
    static workload t;
    static cartpole pole;
    if (argc > 1) {
        printf("usage: estimator\nTimes resnharpg.h. BENCH_QUICK=1: shorter.\n");
        return strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    bench_print_build();
    shape.hidden[0] = shape.hidden[1] = 16;
    workload_make(&t, &shape, 500);
    t.env = cartpole_env(&pole);
    rn_trainer *trainer = learn(&t, poles);
    bench_steps(&t);
    bench_round(trainer, t.policy.dim);
    rn_trainer_destroy(trainer);
    bench_large(64);
    bench_large(256);
    return 0;
}
