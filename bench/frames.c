/* Do frames hold? A game gives the trainer a budget in each frame; what spoils a frame is not the
   mean but the longest tick. For N = 10 and 100 agents with networks of 64-64 and 128-128, H = 1000
   and a budget of 100: the median tick, the longest of all that play and sum, and the longest of
   those at the end of a round, which make the adversaries' rows and aggregate; the ratios are to the
   median. The same with server.watch, whose n^2 distances are one piece, and for an evaluation of
   ten trajectories.
   A run is made of the same ticks each time. Others use the machine too, and they only ever add
   time: each tick counts with the least that it took in several runs. BENCH_QUICK=1: fewer runs. */
#include "bench.h"
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"

enum { BUDGET = 100, HORIZON = 1000, ROUNDS = 2, MOST = 100, TICKS = 200000 };

/* ---- a task that never ends by itself: four numbers that turn, and a push */
typedef struct wheel {
    rn_real x[4];
} wheel;

static void wheel_reset(void *self, const agg_rng *rng, rn_real *obs) {
    wheel *w = (wheel *)self;
    for (int i = 0; i < 4; i++) w->x[i] = (rn_real)(rn_draw_uniform(rng) - 0.5);
    memcpy(obs, w->x, sizeof w->x);
}

static rn_step_result wheel_step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                                 double *reward) {
    wheel *w = (wheel *)self;
    const rn_real push = act[0] > 0 ? (rn_real)0.1 : (rn_real)-0.1;
    (void)rng;
    for (int i = 0; i < 4; i += 2) {
        const rn_real a = w->x[i], b = w->x[i + 1];
        w->x[i] = (rn_real)0.98 * a + (rn_real)0.1 * b;
        w->x[i + 1] = (rn_real)0.98 * b - (rn_real)0.1 * a + push;
    }
    *reward = 1 - (double)(w->x[0] * w->x[0]);
    memcpy(obs, w->x, sizeof w->x);
    return RN_RUNNING;
}

static rn_env wheel_env(wheel *w) {
    rn_env e;
    memset(&e, 0, sizeof e);
    e.self = w;
    e.reset = wheel_reset;
    e.step = wheel_step;
    e.obs_dim = 4;
    e.act_dim = 1;
    e.actions = 2;
    return e;
}

/* ---- one run: the time of each tick */
static double least[TICKS];
static int ends[TICKS]; /* nobody plays any more */

static rn_trainer *make(size_t agents, size_t units, int watch, wheel *wheels, rn_net *net) {
    rn_env envs[MOST];
    rn_net_desc shape = rn_make_net_desc(4, 2);
    rn_trainer *t = NULL;
    shape.hidden[0] = shape.hidden[1] = units;
    for (size_t i = 0; i < agents; i++) envs[i] = wheel_env(&wheels[i]);
    rn_trainer_desc d =
        rn_make_trainer_desc(agents, agents * 3 / 10, envs, rn_make_net_policy(net, &shape));
    d.method.horizon = HORIZON;
    d.method.batch = 2; /* as when the times of the README were taken */
    d.adversaries = agents * 3 / 10;
    if (watch) d.server.watch = RN_WATCH_NEWS;
    if (rn_trainer_create(&t, &d) != RN_OK) exit((fprintf(stderr, "frames: no trainer\n"), 1));
    return t;
}

static int all_played(const rn_trainer *t, size_t agents) {
    for (size_t i = 0; i < agents; i++)
        if (rn_trainer_agent_status(t, i) == RN_MORE) return 0;
    return 1;
}

static size_t run(size_t agents, size_t units, int watch, int first) {
    static wheel wheels[MOST];
    static rn_net net;
    rn_trainer *t = make(agents, units, watch, wheels, &net);
    size_t tick;
    (void)rn_trainer_run_round(t); /* there is a v from the second on */
    for (tick = 0; tick < TICKS && rn_trainer_rounds_done(t) < 1 + ROUNDS; tick++) {
        const double from = bench_cpu();
        const rn_status s = rn_trainer_tick(t, BUDGET, NULL);
        const double took = bench_cpu() - from;
        if (s != RN_OK && s != RN_MORE) exit((fprintf(stderr, "%s\n", rn_status_text(s)), 1));
        if (first || took < least[tick]) least[tick] = took;
        ends[tick] = all_played(t, agents);
    }
    rn_trainer_destroy(t);
    return tick;
}

static size_t evaluate(size_t units, int first) {
    static wheel wheels[MOST];
    static rn_net net;
    rn_trainer *t = make(1, units, 0, wheels, &net);
    const rn_env env = wheel_env(&wheels[1]);
    const rn_net_desc shape = net.desc;
    const rn_policy p = rn_make_net_policy(&net, &shape);
    const size_t size = rn_evaluator_size(&env, &p);
    void *block = bench_alloc(size, 1);
    rn_evaluation_desc d;
    rn_evaluation out;
    rn_evaluator *e = NULL;
    rn_status s;
    size_t tick = 0;
    memset(&d, 0, sizeof d);
    s = rn_evaluator_init(&e, &d, &env, &p, rn_trainer_theta(t), block, size);
    for (s = s == RN_OK ? RN_MORE : s; s == RN_MORE; tick++) {
        const double from = bench_cpu();
        s = rn_evaluator_tick(e, BUDGET, NULL, &out);
        const double took = bench_cpu() - from;
        if (first || took < least[tick]) least[tick] = took;
        ends[tick] = 0;
    }
    free(block);
    rn_trainer_destroy(t);
    return tick;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *what, size_t ticks) {
    double play = 0, end = 0;
    for (size_t i = 0; i < ticks; i++) {
        if (ends[i] && least[i] > end) end = least[i];
        if (!ends[i] && least[i] > play) play = least[i];
    }
    qsort(least, ticks, sizeof *least, by_size);
    printf("%-26s %8d %9.3f %9.3f %7.1f", what, (int)ticks, 1e3 * least[ticks / 2], 1e3 * play,
           play / least[ticks / 2]);
    if (end > 0) printf(" %9.3f %7.1f", 1e3 * end, end / least[ticks / 2]);
    printf("\n");
}

static void print_training(size_t agents, size_t units, int watch, int times) {
    char what[64];
    size_t ticks = 0;
    for (int k = 0; k < times; k++) ticks = run(agents, units, watch, k == 0);
    snprintf(what, sizeof what, "N = %d, %d-%d%s", (int)agents, (int)units, (int)units,
             watch ? ", watched" : "");
    report(what, ticks);
}

static void print_evaluation(size_t units, int times) {
    char what[64];
    size_t ticks = 0;
    for (int k = 0; k < times; k++) ticks = evaluate(units, k == 0);
    snprintf(what, sizeof what, "evaluation, %d-%d", (int)units, (int)units);
    report(what, ticks);
}

int main(void) {
    static const size_t agents[] = {10, 100}, units[] = {64, 128};
    const int times = bench_quick() ? 2 : 5;
    printf("%s; budget %d, H = %d, %d rounds, least of %d runs, ms\n", BENCH_FLAGS, BUDGET, HORIZON,
           ROUNDS, times);
    printf("%-26s %8s %9s %9s %7s %9s %7s\n", "", "ticks", "median", "longest", "ratio", "round's",
           "ratio");
    for (int watch = 0; watch < 2; watch++)
        for (int a = 0; a < 2; a++)
            for (int u = 0; u < 2; u++) print_training(agents[a], units[u], watch, times);
    for (int u = 0; u < 2; u++) print_evaluation(units[u], times);
    return 0;
}
