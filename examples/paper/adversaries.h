/* adversaries.h - the lists of attacks.c: every rule, four ways to treat the rows before it, every
   attack, three trainings, and the results of runs by place.

       adversaries_list(&lists);
       spot s = {0, TRAIN_DEFAULT, WAY_NNM_TWICE, AGG_MDA, AGG_ATTACK_WORST, 3};
       study_add(&study, s, 20);                  // 20 seeds; what is there already is not doubled
       ...                                        // trials_run()
       result r = study_result(&study, s);        // mean, least, runs that failed */
#ifndef ADVERSARIES_H
#define ADVERSARIES_H
#include "tasks.h"

enum { AGENTS = 10, MAX_F = 4, POINTS = 10, FIRST_SEED = 6001, MAX_TRIALS = 8000 };

/* ---- before the rule */
enum { WAY_ALONE, WAY_NNM, WAY_CLIP, WAY_NNM_TWICE, WAYS };

typedef struct way_row {
    const char *name;
    agg_pre pre[2];
} way_row;

static const way_row ways[WAYS] = {{"alone", {AGG_PRE_NONE, AGG_PRE_NONE}},
                                   {"NNM", {AGG_PRE_NNM, AGG_PRE_NONE}},
                                   {"median clipping", {AGG_PRE_CLIP_MEDIAN, AGG_PRE_NONE}},
                                   {"NNM twice", {AGG_PRE_NNM, AGG_PRE_NNM}}};

/* ---- how long, with which batch: the recipe is rn_make_trainer_desc()'s but for these */
enum { TRAIN_DEFAULT, TRAIN_QUARTER, TRAIN_OLD, TRAININGS };

typedef struct training_row {
    const char *name;
    size_t batch, rounds;
    double gamma;
} training_row;

static const training_row trainings[TRAININGS] = {
    {"default", 8, 100, 0.16}, /* what rn_make_trainer_desc() gives */
    {"quarter batch", 2, 60, 0.16},
    {"version 0.4", 2, 200, 0.08}};

/* ---- attacks: those of aggregators.h by their number, then the trainer's */
enum {
    RANDOM_ACTION = AGG_ATTACK_COUNT,
    REWARD_FLIP,
    SILENCE,
    REWARD_POISON,
    SLOW_WORST, /* honest for 20 rounds, then growing for 30: at full strength from round 50 on */
    NOBODY,     /* all are honest */
    ATTACKS
};

typedef struct lists {
    learner rule[AGG_RULE_COUNT];
    attack attack[ATTACKS];
    char label[TRAININGS][WAYS][40];
} lists;

PLOT_FN void adversaries_list(lists *l) {
    memset(l, 0, sizeof *l);
    for (int r = 0; r < AGG_RULE_COUNT; r++) {
        l->rule[r].name = agg_rule_name((agg_rule)r);
        l->rule[r].rule = (agg_rule)r;
    }
    for (int a = 0; a < AGG_ATTACK_COUNT; a++) l->attack[a] = attack_of_vector((agg_attack_kind)a);
    l->attack[RANDOM_ACTION] = attack_of_kind(RN_ATTACK_RANDOM_ACTION, "random action");
    l->attack[REWARD_FLIP] = attack_of_kind(RN_ATTACK_REWARD_FLIP, "flipped reward");
    l->attack[SILENCE] = attack_of_kind(RN_ATTACK_SILENCE, "silence");
    l->attack[REWARD_POISON] = attack_of_kind(RN_ATTACK_REWARD_POISON, "poisoned reward");
    l->attack[SLOW_WORST] = attack_of_vector(AGG_ATTACK_WORST);
    l->attack[SLOW_WORST].name = "slow worst";
    l->attack[SLOW_WORST].desc.wait = 20;
    l->attack[SLOW_WORST].desc.ramp = 30;
    l->attack[NOBODY] = attack_of_kind(RN_ATTACK_NONE, "nobody");
    for (int t = 0; t < TRAININGS; t++)
        for (int w = 0; w < WAYS; w++)
            snprintf(l->label[t][w], sizeof l->label[t][w], "%s/%s", trainings[t].name,
                     ways[w].name);
}

/* ---- tasks with the recipe of rn_make_trainer_desc(), unchanged, and a net of 16-16 */
PLOT_FN recipe default_recipe(const rn_env *e) {
    recipe r;
    rn_net net;
    rn_trainer_desc d;
    memset(&r, 0, sizeof r);
    r.net = rn_make_net_desc(e->obs_dim, e->actions ? e->actions : e->act_dim);
    r.net.hidden[0] = r.net.hidden[1] = 16;
    r.net.gaussian = !e->actions;
    r.net.log_std = r.net.log_std_min = -0.5;
    r.net.log_std_max = 2;
    d = rn_make_trainer_desc(AGENTS, 3, e, rn_make_net_policy(&net, &r.net));
    r.method = d.method;
    r.gamma = d.server.gamma;
    r.eta = d.server.eta.value;
    r.soft = d.server.soft;
    r.mean_too = 1;
    return r;
}

PLOT_FN recipe choose_default(const task *k, const learner *l) {
    void *state = calloc(1, k->state_size);
    rn_env e;
    recipe r;
    (void)l;
    if (!state) exit(1);
    e = k->env(k, state);
    r = default_recipe(&e);
    free(state);
    return r;
}

/* clang-format off */
static const task attacked[TASKS] = {
    {"CartPole", sizeof(cartpole), cartpole_make, choose_default, 500, 500},
    {"InvertedPendulum", sizeof(inverted_pendulum), pendulum_make, choose_default, 1000, 1000}};
/* clang-format on */

/* ---- a place in the study: its runs differ in their seed alone */
typedef struct spot {
    int task, train, way, rule, attack;
    size_t f; /* adversaries, but for NOBODY; the server knows it */
} spot;

typedef struct study {
    lists lists;
    trial trials[MAX_TRIALS];
    spot at[MAX_TRIALS];
    size_t count;
} study;

PLOT_FN int same_spot(const spot *a, const spot *b) {
    return a->task == b->task && a->train == b->train && a->way == b->way && a->rule == b->rule &&
           a->attack == b->attack && a->f == b->f;
}

PLOT_FN trial trial_at(const study *st, spot s, uint64_t seed) {
    const training_row *row = &trainings[s.train];
    trial t =
        trial_make(&attacked[s.task], &st->lists.rule[s.rule], &st->lists.attack[s.attack], seed);
    t.label = st->lists.label[s.train][s.way];
    t.recipe.method.batch = row->batch;
    t.recipe.gamma = rn_schedule_linear(row->gamma, 0, row->rounds);
    memcpy(t.recipe.pre, ways[s.way].pre, sizeof t.recipe.pre);
    t.f = s.f;
    t.adversaries = s.attack == NOBODY ? 0 : s.f;
    t.trajectories = row->batch * row->rounds;
    t.every = t.trajectories / POINTS;
    return t;
}

/* Is f not too much for the rule? The mean asks for none, and promises nothing. */
PLOT_FN int spot_possible(spot s) {
    return s.rule == AGG_MEAN || s.f <= agg_max_f((agg_rule)s.rule, AGENTS);
}

/* runs with the first `seeds` seeds, but for those that are there */
PLOT_FN void study_add(study *st, spot s, size_t seeds) {
    size_t have = 0;
    for (size_t i = 0; i < st->count; i++) have += (size_t)same_spot(&st->at[i], &s);
    for (; spot_possible(s) && have < seeds && st->count < MAX_TRIALS; have++) {
        st->at[st->count] = s;
        st->trials[st->count++] = trial_at(st, s, FIRST_SEED + have);
    }
}

/* leaves only the runs that are in the store already; text: the store's */
PLOT_FN void study_keep_stored(study *st, const char *text) {
    size_t kept = 0;
    for (size_t i = 0; i < st->count; i++) {
        char key[160], line[164];
        trial_key(&st->trials[i], key);
        snprintf(line, sizeof line, "\n%s,", key);
        if (!strstr(text, line)) continue;
        st->trials[kept] = st->trials[i];
        st->at[kept++] = st->at[i];
    }
    st->count = kept;
}

/* ---- results */
typedef struct result {
    size_t runs, failed, weak;   /* runs that end below 80 %, below 95 % of the best return */
    double mean, low;            /* return of the last policy; NAN: no run */
    double cosine, least;        /* of the aggregate and the honest mean, all rounds */
    double curve[POINTS + 1];    /* cosine along the run */
    double x[POINTS + 1], steps; /* trajectories per agent; environment steps of all */
} result;

PLOT_FN void result_take(result *r, const trial *t) {
    const double end = t->score[t->points - 1], best = t->task->best;
    r->runs++;
    r->failed += end < 0.8 * best;
    r->weak += end < 0.95 * best;
    r->mean += end;
    r->low = fmin(r->low, end);
    r->steps += t->steps[t->points - 1];
    for (size_t p = 1; p < t->points; p++) {
        r->x[p] = t->x[p];
        r->curve[p] += t->cosine[p];
        r->cosine += t->cosine[p] / (double)(t->points - 1);
        r->least = fmin(r->least, t->least[p]);
    }
}

PLOT_FN result study_result(const study *st, spot s) {
    result r;
    memset(&r, 0, sizeof r);
    r.low = 1e300;
    r.least = 1;
    for (size_t i = 0; i < st->count; i++)
        if (same_spot(&st->at[i], &s)) result_take(&r, &st->trials[i]);
    for (size_t p = 0; p <= POINTS; p++) r.curve[p] /= (double)r.runs;
    r.mean = r.runs ? r.mean / (double)r.runs : (double)NAN;
    if (!r.runs) r.low = (double)NAN;
    r.steps /= (double)r.runs;
    r.cosine /= (double)r.runs;
    return r;
}
#endif /* ADVERSARIES_H */
