/* ensemble: the other defence (Fang, Wang, Gong 2025). The agents are dealt into K groups by the
   hash of their number; each group learns a policy of its own. To act, all K policies are asked:
   discrete actions by majority vote, continuous ones by their geometric median. An adversary
   spoils one group at most, so that a vote of v1 against v2 stands while adversaries are at most
   floor((v1 - v2 - tie)/2): the certified number, state by state. Question: does it beat one
   federation of all agents, under the worst attack? */
#define _POSIX_C_SOURCE 200809L
#define RESNHARPG_IMPLEMENTATION
#include "tasks.h"

enum { MAX_AGENTS = 30, MAX_GROUPS = 5, FIRST_SEED = 301, MAX_SEEDS = 5, EXAMS = 20, SETTINGS = 4 };
enum { ONE, VOTED, LOWEST_GROUP, HIGHEST_GROUP, SPOILT, CERTIFIED, UNSURE, NUMBERS };

typedef struct setting {
    const char *name;
    int task; /* of tasks.h */
    size_t agents, adversaries, groups;
} setting;

static const setting settings[SETTINGS] = {{"CartPole, 3 of 10, K = 3", 0, 10, 3, 3},
                                           {"InvertedPendulum, 3 of 10, K = 3", 1, 10, 3, 3},
                                           {"CartPole, 9 of 30, K = 5", 0, 30, 9, 5},
                                           {"InvertedPendulum, 9 of 30, K = 5", 1, 30, 9, 5}};

/* ---- groups */
static uint64_t hash(uint64_t id, uint64_t salt) {
    rn_random r = rn_make_random(id * 1000003 + salt, 0);
    return rn_random_next(&r);
}

/* group[i]: the agents in the order of their hashes are dealt like cards */
static void deal(const setting *s, uint64_t seed, size_t *group) {
    for (size_t i = 0; i < s->agents; i++) {
        size_t before = 0;
        for (size_t j = 0; j < s->agents; j++) before += hash(j, seed) < hash(i, seed);
        group[i] = before % s->groups;
    }
}

/* ---- learning */
typedef struct crew { /* the agents of one trainer; adversaries are the last */
    size_t agents, adversaries;
    uint64_t seed;
} crew;

static rn_net_desc shape_of(int k) {
    rn_net_desc d = rn_make_net_desc(4, k ? 1 : 2);
    d.hidden[0] = d.hidden[1] = 16;
    d.gaussian = k;
    d.log_std = d.log_std_min = -0.5;
    d.log_std_max = 2;
    return d;
}

/* The server expects the share of adversaries that all agents have, rounded up; the group may have
   more. */
static void learn(const setting *s, crew c, rn_real *theta) {
    const task *k = &tasks[0][s->task];
    const size_t most = (c.agents - 1) / 2;
    size_t f = (c.agents * s->adversaries + s->agents - 1) / s->agents;
    char *states = (char *)calloc(c.agents, k->state_size);
    const rn_net_desc shape = shape_of(s->task);
    rn_env envs[MAX_AGENTS];
    rn_trainer *t = NULL;
    rn_net net;
    if (!states) exit(1);
    if (f > most) f = most;
    for (size_t i = 0; i < c.agents; i++) envs[i] = k->env(k, states + i * k->state_size);
    rn_trainer_desc d = rn_make_trainer_desc(c.agents, f, envs, rn_make_net_policy(&net, &shape));
    d.adversaries = c.adversaries;
    d.attack.vector.kind = AGG_ATTACK_WORST;
    d.seed = c.seed;
    if (rn_trainer_create(&t, &d) != RN_OK) exit((fprintf(stderr, "cannot start\n"), 1));
    for (size_t round = 0; round < d.server.gamma.rounds; round++) (void)rn_trainer_run_round(t);
    memcpy(theta, rn_trainer_theta(t), d.policy.dim * sizeof *theta);
    rn_trainer_destroy(t);
    free(states);
}

/* ---- acting: the ensemble is a policy like any other */
typedef struct ensemble {
    rn_policy policy; /* of one member */
    size_t groups;
    rn_real *theta[MAX_GROUPS];
    void *work;
    size_t work_size;
    double states, certified, unsure; /* states seen, sum of certified numbers, how many have 0 */
} ensemble;

/* the most votes, ties to the lower action; then what an adversary must overturn */
static rn_real vote(ensemble *e, const rn_real *action) {
    size_t votes[8] = {0}, first = 0, second;
    for (size_t g = 0; g < e->groups; g++) votes[(size_t)action[g]]++;
    for (size_t a = 1; a < e->policy.actions; a++)
        if (votes[a] > votes[first]) first = a;
    second = first == 0;
    for (size_t a = 0; a < e->policy.actions; a++)
        if (a != first && votes[a] > votes[second]) second = a;
    const size_t lead = votes[first] - votes[second], tie = second < first;
    const size_t sure = lead > tie ? (lead - tie) / 2 : 0;
    e->states++;
    e->certified += (double)sure;
    e->unsure += sure == 0;
    return (rn_real)first;
}

static rn_real middle(const ensemble *e, const rn_real *action) {
    const rn_real *rows[MAX_GROUPS];
    const agg_desc d = agg_make_desc(AGG_GM, e->groups, 1, (e->groups - 1) / 2);
    char scratch[16384];
    rn_real out = 0;
    for (size_t g = 0; g < e->groups; g++) rows[g] = &action[g];
    if (agg_aggregate(&d, rows, &out, scratch, sizeof scratch, NULL) > AGG_INEXACT) exit(1);
    return out;
}

static void ensemble_act(void *self, const rn_real *theta, const rn_real *obs, const agg_rng *rng,
                         rn_real *act, void *work) {
    ensemble *e = (ensemble *)self;
    rn_real action[MAX_GROUPS];
    (void)theta;
    (void)work;
    for (size_t g = 0; g < e->groups; g++)
        if (rn_policy_act(&e->policy, e->theta[g], obs, rng, &action[g], e->work, e->work_size))
            exit(1);
    act[0] = e->policy.actions ? vote(e, action) : middle(e, action);
}

static double evaluate(const setting *s, const rn_policy *p, const rn_real *theta, uint64_t seed) {
    const task *k = &tasks[0][s->task];
    const rn_evaluation_desc d = {EXAMS, k->evaluation_steps, 0, seed, 0};
    void *state = calloc(1, k->state_size);
    rn_env env = k->env(k, state);
    rn_evaluation r = {0, 0, 0, 0};
    const size_t size = rn_evaluate_scratch_size(&env, p);
    void *scratch = malloc(size);
    if (!state || !scratch || rn_evaluate(&d, &env, p, theta, scratch, size, &r)) exit(1);
    free(scratch);
    free(state);
    return r.mean;
}

/* ---- one run: both ways, with the same adversaries */
static crew crew_of(const setting *s, const size_t *group, size_t g, uint64_t seed) {
    crew c = {0, 0, seed * 100 + g};
    for (size_t i = 0; i < s->agents; i++) {
        c.agents += group[i] == g;
        c.adversaries += group[i] == g && i + s->adversaries >= s->agents;
    }
    return c;
}

static void run_ensemble(const setting *s, ensemble *e, uint64_t seed, double *result) {
    size_t group[MAX_AGENTS];
    rn_policy voters = e->policy;
    deal(s, seed, group);
    result[LOWEST_GROUP] = 1e9;
    for (size_t g = 0; g < s->groups; g++) {
        const crew c = crew_of(s, group, g, seed);
        learn(s, c, e->theta[g]);
        const double alone = evaluate(s, &e->policy, e->theta[g], seed);
        result[LOWEST_GROUP] = fmin(result[LOWEST_GROUP], alone);
        result[HIGHEST_GROUP] = fmax(result[HIGHEST_GROUP], alone);
        result[SPOILT] += 2 * c.adversaries >= c.agents;
    }
    voters.self = e;
    voters.act = ensemble_act;
    voters.prepare = NULL; /* these would be asked about the net, and self is another's */
    voters.work_size = NULL;
    voters.accepts_obs = voters.accepts_act = NULL;
    result[VOTED] = evaluate(s, &voters, e->theta[0], seed);
    result[CERTIFIED] = e->states > 0 ? e->certified / e->states : -1;
    result[UNSURE] = e->states > 0 ? e->unsure / e->states : -1;
}

static void run(const setting *s, uint64_t seed, double *result) {
    const rn_net_desc shape = shape_of(s->task);
    const crew all = {s->agents, s->adversaries, seed};
    rn_net net;
    ensemble e;
    memset(&e, 0, sizeof e);
    memset(result, 0, NUMBERS * sizeof *result);
    e.policy = rn_make_net_policy(&net, &shape);
    e.groups = s->groups;
    e.work_size = rn_policy_work_size(&e.policy, 0);
    e.work = malloc(e.work_size);
    for (size_t g = 0; g < MAX_GROUPS; g++)
        e.theta[g] = (rn_real *)calloc(e.policy.dim, sizeof *e.theta[g]);
    if (!e.work || !e.theta[MAX_GROUPS - 1]) exit(1);
    learn(s, all, e.theta[0]);
    result[ONE] = evaluate(s, &e.policy, e.theta[0], seed);
    run_ensemble(s, &e, seed, result);
    for (size_t g = 0; g < MAX_GROUPS; g++) free(e.theta[g]);
    free(e.work);
}

/* ---- all of them */
typedef struct grid {
    int quick;
    size_t seeds, count;
    double result[SETTINGS][MAX_SEEDS][NUMBERS];
    paper_store store;
    paper_progress progress;
} grid;

static void run_job(void *arg, size_t i) {
    grid *g = (grid *)arg;
    const size_t at = i / g->seeds, seed = i % g->seeds;
    double *result = g->result[at][seed];
    char key[96];
    snprintf(key, sizeof key, "%s/seed %d", settings[at].name, (int)seed);
    if (!paper_store_find(&g->store, key, result, NUMBERS)) {
        run(&settings[at], FIRST_SEED + seed, result);
        paper_store_add(&g->store, key, result, NUMBERS);
    }
    paper_progress_add(&g->progress, 1);
}

static double mean_of(const grid *g, size_t at, int number) {
    double sum = 0;
    for (size_t i = 0; i < g->seeds; i++) sum += g->result[at][i][number] / (double)g->seeds;
    return sum;
}

static void report(const grid *g, paper_claims *c, size_t at) {
    const setting *s = &settings[at];
    size_t better = 0;
    for (size_t i = 0; i < g->seeds; i++) {
        const double *r = g->result[at][i];
        better += r[VOTED] > r[ONE];
        paper_note(c,
                   "%s, seed %d: one federation %.0f; ensemble %.0f, its groups alone %.0f to "
                   "%.0f, %d of %d with as many adversaries as honest or more.",
                   s->name, FIRST_SEED + (int)i, r[ONE], r[VOTED], r[LOWEST_GROUP],
                   r[HIGHEST_GROUP], (int)r[SPOILT], (int)s->groups);
        if (r[CERTIFIED] >= 0)
            paper_note(c,
                       "Certified: %.2f adversaries on average over the states seen, none in "
                       "%.0f %% of them.",
                       r[CERTIFIED], 100 * r[UNSURE]);
    }
    paper_claim(c, mean_of(g, at, VOTED) > mean_of(g, at, ONE), s->name,
                "the ensemble beats one federation? %.0f against %.0f, better in %d of %d",
                mean_of(g, at, VOTED), mean_of(g, at, ONE), (int)better, (int)g->seeds);
}

int main(int argc, char **argv) {
    static grid g;
    paper_claims c;
    pool workers;
    const double from = paper_wall();
    g.quick = paper_quick(argc, argv,
                          "usage: ensemble [--quick]\n"
                          "K policies that vote, or one of all agents? writes build/ensemble.md.\n"
                          "--quick: 10 agents on CartPole, one seed; build/ensemble_quick.md\n");
    g.seeds = g.quick ? 1 : MAX_SEEDS;
    g.count = g.quick ? 1 : SETTINGS;
    if (paper_store_open(&g.store, g.quick ? "build/ensemble_quick.part" : "build/ensemble.part",
                         "ensemble, 16-16, version 0.5") != 0)
        return 1;
    paper_progress_start(&g.progress, (double)(g.count * g.seeds));
    pool_start(&workers, paper_cores());
    pool_run(&workers, g.count * g.seeds, run_job, &g);
    pool_stop(&workers);
    paper_store_close(&g.store, 1);
    if (paper_claims_open(&c, g.quick ? "build/ensemble_quick.md" : "build/ensemble.md",
                          "An ensemble, or one federation?") != 0)
        return 1;
    for (size_t i = 0; i < g.count; i++) report(&g, &c, i);
    paper_note(&c, "%s, worst attack, %.0f s.", g.quick ? "Quick version" : "Full version",
               paper_wall() - from);
    return paper_claims_close(&c) != 0;
}
