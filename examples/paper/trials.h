/* trials.h - training runs for the figures of the paper: tasks with their recipes, the algorithms
   that are compared, and a grid of runs on all cores that goes on where it was interrupted.

       trial t = trial_make(&task, &learners[0], &attacks[2], 1);      // the last is the seed
       trials_run(&t, 1, "build/figure.part", "settings that must be the same");
       for (size_t i = 0; i < t.points; i++) printf("%g %g\n", t.x[i], t.score[i]);
       trials_free(&t, 1);

   A rule of yours is t.aggregate, an attack of yours attack.desc.make (lesson 10 has both).
   The score of a trial is the mean return of ten trajectories with the most likely actions, every
   twenty trajectories. Define _POSIX_C_SOURCE 200809L and RESNHARPG_IMPLEMENTATION first. */
#ifndef TRIALS_H
#define TRIALS_H
#include "resnharpg.h"
#include "paper.h"
#include "../explain.h"
#include "../pool.h"

/* trajectories of an evaluation; trajectories per agent from one evaluation to the next */
enum { TRIAL_TRAJECTORIES = 10, TRIAL_EVERY = 20 };

/* the evaluations that a run must not fail */
enum { TRIAL_LAST = 5 };

typedef struct learner { /* a line in a figure */
    const char *name;
    agg_rule rule;
    int no_hessian; /* 1: v = 0, and its trajectory serves for a second gradient instead */
    int no_memory;  /* 1: eta = 1 */
} learner;

/* everything else that is to be chosen: the same for all rules and attacks of a task */
typedef struct recipe {
    rn_net_desc net;
    rn_method method;
    rn_schedule gamma;
    double eta;
    rn_update_kind update;
    agg_pre pre[2]; /* before every rule but the mean ... */
    int mean_too;   /* ... 1: before the mean too, and NNM alone then saves it */
    int soft;
    double kl;
    rn_watch watch;
} recipe;

/* One for all tasks: rn_make_tuned_trainer_desc() and a net of 32-32. gamma's rounds are the
   caller's. */
PLOT_FN recipe recipe_tuned(const rn_env *e) {
    recipe r;
    rn_net net;
    rn_trainer_desc d;
    memset(&r, 0, sizeof r);
    r.net = rn_make_net_desc(e->obs_dim, e->actions ? e->actions : e->act_dim);
    r.net.hidden[0] = r.net.hidden[1] = 32;
    r.net.gaussian = !e->actions;
    r.net.log_std = -0.5;
    r.net.log_std_min = -2;
    r.net.log_std_max = 2;
    d = rn_make_tuned_trainer_desc(10, 3, e, rn_make_net_policy(&net, &r.net), 0);
    r.method = d.method;
    r.gamma = d.server.gamma;
    r.gamma.end = 0; /* a figure has a last round */
    r.eta = d.server.eta.value;
    r.kl = d.server.kl;
    r.soft = d.server.soft;
    memcpy(r.pre, d.server.agg.pre, sizeof r.pre);
    return r;
}

typedef struct task task;

struct task {
    const char *name;
    size_t state_size; /* bytes of one instance */
    rn_env (*env)(const task *k, void *state);
    recipe (*choose)(const task *k, const learner *l);
    size_t evaluation_steps; /* length of a trajectory in the evaluation */
    double best;             /* the largest return there is, or that the figure shows */
};

typedef struct attack {
    const char *name;
    rn_attack desc;
} attack;

PLOT_FN attack attack_of_kind(rn_attack_kind kind, const char *name) {
    attack a;
    memset(&a, 0, sizeof a);
    a.name = name;
    a.desc.kind = kind;
    return a;
}

PLOT_FN attack attack_of_vector(agg_attack_kind kind) {
    attack a = attack_of_kind(RN_ATTACK_VECTOR, agg_attack_name(kind));
    a.desc.vector.kind = kind;
    return a;
}

/* what a trial measures at each evaluation: score, steps, cosine, least */
enum { TRIAL_KINDS = 4 };

typedef struct trial {
    void (*run)(struct trial *t); /* another algorithm: fills score and steps; NULL = Res-NHARPG */
    const task *task;
    const learner *learner;
    const attack *attack;
    const char *label; /* what else tells it from others, or NULL */
    recipe recipe;
    uint64_t seed;
    size_t agents, f, adversaries; /* 10, 3, 3 */
    size_t trajectories;           /* per agent, 1800 */
    size_t every;                  /* of them between evaluations; 0 = TRIAL_EVERY */
    agg_status (*aggregate)(void *self, const rn_real *const *rows, size_t n, size_t dim,
                            rn_real *out); /* a rule of yours, as server.aggregate; give it a
                                              learner with its name. NULL = the learner's */
    void *aggregate_self;
    size_t points;          /* the rest is filled in by trials_run */
    int found;              /* 1: an earlier call had done it */
    double *x;              /* trajectories per agent so far */
    double *score, *steps;  /* return; environment steps of all agents */
    double *cosine, *least; /* of the aggregate and the honest mean, since the evaluation before:
                               mean and least; Res-NHARPG only */
} trial;

PLOT_FN trial trial_make(const task *k, const learner *l, const attack *a, uint64_t seed) {
    trial t;
    memset(&t, 0, sizeof t);
    t.task = k;
    t.learner = l;
    t.attack = a;
    t.seed = seed;
    t.recipe = k->choose(k, l);
    t.agents = 10;
    t.f = t.adversaries = 3;
    t.trajectories = 1800;
    return t;
}

/* ---- one run */
PLOT_FN rn_env trial_env(const trial *t, char *states, size_t i) {
    return t->task->env(t->task, states + i * t->task->state_size);
}

PLOT_FN size_t trial_batch(const trial *t) {
    return t->recipe.method.batch ? t->recipe.method.batch : 1;
}

/* trajectories an agent plays in a round */
PLOT_FN size_t trial_per_round(const trial *t) {
    const rn_method *m = &t->recipe.method;
    return trial_batch(t) * (m->no_hessian || m->reuse || m->tuned ? 1 : 2);
}

/* rounds between evaluations */
PLOT_FN size_t trial_every(const trial *t) {
    const size_t n = (t->every ? t->every : TRIAL_EVERY) / trial_per_round(t);
    return n ? n : 1;
}

/* envs: t->agents of them, or one for all that only look at its sizes */
PLOT_FN rn_trainer_desc trial_desc(const trial *t, rn_net *net, const rn_env *envs) {
    rn_trainer_desc d =
        rn_make_trainer_desc(t->agents, t->f, envs, rn_make_net_policy(net, &t->recipe.net));
    d.method = t->recipe.method;
    d.server.agg.rule = t->learner->rule;
    d.server.aggregate = t->aggregate;
    d.server.aggregate_self = t->aggregate_self;
    memset(d.server.agg.pre, 0, sizeof d.server.agg.pre);
    if (t->learner->rule != AGG_MEAN || t->recipe.mean_too)
        memcpy(d.server.agg.pre, t->recipe.pre, sizeof t->recipe.pre);
    d.server.soft = t->recipe.soft;
    d.server.kl = t->recipe.kl;
    d.server.watch = t->recipe.watch;
    d.server.gamma = t->recipe.gamma;
    d.server.eta = rn_schedule_constant(t->recipe.eta);
    d.server.update = t->recipe.update;
    d.adversaries = t->adversaries;
    d.attack = t->attack->desc;
    d.seed = t->seed;
    return d;
}

PLOT_FN rn_trainer *trial_start(const trial *t, rn_net *net, char *states) {
    rn_env *envs = (rn_env *)calloc(t->agents, sizeof *envs);
    rn_trainer *trainer = NULL;
    if (!envs) exit(1);
    for (size_t i = 0; i < t->agents; i++) envs[i] = trial_env(t, states, i);
    const rn_trainer_desc d = trial_desc(t, net, envs);
    const rn_status s = explain_trainer(rn_trainer_create(&trainer, &d), &d);
    free(envs);
    if (s != RN_OK)
        exit((fprintf(stderr, "%s, %s: %s\n", t->task->name, t->learner->name, rn_status_text(s)),
              1));
    return trainer;
}

PLOT_FN double trial_evaluate(const trial *t, const rn_policy *p, const rn_env *env,
                              const rn_real *theta, size_t point) {
    rn_evaluation_desc d = {TRIAL_TRAJECTORIES, t->task->evaluation_steps, 0, 0, 0};
    rn_evaluation e = {0, 0, 0, 0};
    const size_t size = rn_evaluate_scratch_size(env, p);
    void *scratch = malloc(size);
    d.seed = 7919 * t->seed + point; /* new in every evaluation, the same for all learners */
    if (!scratch || rn_evaluate(&d, env, p, theta, scratch, size, &e) != RN_OK) exit(1);
    free(scratch);
    return e.mean;
}

/* Has gamma come to its end at 0? What is left are evaluations. */
PLOT_FN int trial_stands(const trial *t, const rn_trainer *trainer) {
    const rn_schedule *g = &t->recipe.gamma;
    return g->kind == RN_SCHEDULE_LINEAR && !(g->end > 0) &&
           rn_trainer_rounds_done(trainer) >= g->rounds;
}

/* The rounds up to evaluation p. A refusal of the rule means: no step, and no cosine. */
PLOT_FN void trial_run_rounds(trial *t, rn_trainer *trainer, size_t p) {
    size_t known = 0;
    t->least[p] = p ? t->least[p - 1] : 1;
    for (size_t i = 0; p > 0 && i < trial_every(t) && !trial_stands(t, trainer); i++) {
        if (rn_trainer_run_round(trainer) != RN_OK) continue;
        const double cosine = rn_trainer_progress(trainer)->cosine;
        t->cosine[p] += cosine;
        t->least[p] = known++ ? fmin(t->least[p], cosine) : cosine;
    }
    if (known) t->cosine[p] /= (double)known;
}

PLOT_FN void trial_run(trial *t) {
    char *states = (char *)calloc(t->agents + 1, t->task->state_size);
    rn_net net;
    rn_policy policy;
    rn_env evaluation;
    rn_trainer *trainer;
    if (!states) exit(1);
    trainer = trial_start(t, &net, states);
    policy = rn_make_net_policy(&net, &t->recipe.net);
    evaluation = trial_env(t, states, t->agents);
    for (size_t p = 0; p < t->points; p++) {
        trial_run_rounds(t, trainer, p);
        t->score[p] = trial_evaluate(t, &policy, &evaluation, rn_trainer_theta(trainer), p);
        t->steps[p] = p ? (double)rn_trainer_progress(trainer)->env_steps : 0;
    }
    rn_trainer_destroy(trainer);
    free(states);
}

/* ---- many */
typedef struct trials_job {
    trial *trials;
    paper_store *store;
    paper_progress progress;
} trials_job;

PLOT_FN void trial_key(const trial *t, char key[160]) {
    snprintf(key, 160, "%s/%s/%s/%s%sf %d of %d/seed %d", t->task->name, t->attack->name,
             t->learner->name, t->label ? t->label : "", t->label ? "/" : "", (int)t->f,
             (int)t->agents, (int)t->seed);
}

PLOT_FN void trials_job_run(void *arg, size_t i) {
    trials_job *job = (trials_job *)arg;
    trial *t = &job->trials[i];
    char key[160];
    trial_key(t, key);
    t->found = paper_store_find(job->store, key, t->score, TRIAL_KINDS * t->points);
    if (!t->found) {
        (t->run ? t->run : trial_run)(t);
        paper_store_add(job->store, key, t->score, TRIAL_KINDS * t->points);
    }
    paper_progress_add(&job->progress, 1);
}

/* Runs all on all cores; a store at `path` keeps what is done if this is interrupted. Returns the
   seconds it took. */
PLOT_FN double trials_run(trial *trials, size_t count, const char *path, const char *settings) {
    const double from = paper_wall();
    paper_store store;
    trials_job job;
    pool workers;
    for (size_t i = 0; i < count; i++) {
        trial *t = &trials[i];
        const size_t each = trial_every(t) * trial_per_round(t);
        t->points = t->trajectories / each + 1;
        t->x = (double *)calloc((1 + TRIAL_KINDS) * t->points, sizeof *t->x);
        if (!t->x) exit(1);
        t->score = t->x + t->points;
        t->steps = t->score + t->points; /* all from score on is one row of the store */
        t->cosine = t->steps + t->points;
        t->least = t->cosine + t->points;
        for (size_t p = 0; p < t->points; p++) t->x[p] = (double)(p * each);
    }
    if (paper_store_open(&store, path, settings) != 0)
        exit((fprintf(stderr, "cannot write %s\n", path), 1));
    job.trials = trials;
    job.store = &store;
    paper_progress_start(&job.progress, (double)count);
    pool_start(&workers, paper_cores());
    pool_run(&workers, count, trials_job_run, &job);
    pool_stop(&workers);
    paper_store_close(&store, 1);
    return paper_wall() - from;
}

PLOT_FN void trials_free(trial *trials, size_t count) {
    for (size_t i = 0; i < count; i++) free(trials[i].x);
}

/* ---- run by run: means hide those that end badly */
typedef struct outcome {
    double first; /* x of the first exam passed; -1: none was */
    double since; /* x from which on all are; -1: not at the end */
    double end;   /* the least of the last exams */
} outcome;

PLOT_FN outcome outcome_of(const trial *t, double least) {
    outcome o = {-1, -1, 1e300};
    for (size_t p = 0; p < t->points; p++) {
        const int passed = t->score[p] >= least;
        if (passed && o.first < 0) o.first = t->x[p];
        if (passed && o.since < 0) o.since = t->x[p];
        if (!passed) o.since = -1;
        if (p + TRIAL_LAST >= t->points) o.end = fmin(o.end, t->score[p]);
    }
    return o;
}

typedef struct tally {
    size_t runs, failed; /* the least of the last exams is too little ... */
    size_t fell;         /* ... though an earlier one was passed */
    double worst, first, since, steps;
} tally;

PLOT_FN tally tally_of(const trial *runs, size_t n, double least) {
    tally y = {0, 0, 0, 1e300, 0, 0, 0};
    for (size_t i = 0; i < n; i++) {
        const outcome o = outcome_of(&runs[i], least);
        y.runs++;
        y.failed += o.end < least;
        y.fell += o.end < least && o.first >= 0;
        y.worst = fmin(y.worst, o.end);
        y.first = o.first < 0 ? 1e9 : fmax(y.first, o.first);
        y.since = o.since < 0 ? 1e9 : fmax(y.since, o.since);
        y.steps += runs[i].steps[runs[i].points - 1] / (double)n / 1e6;
    }
    return y;
}

/* a line for each run: a heading if t is NULL */
PLOT_FN void trial_write(FILE *out, const trial *t, double good) {
    outcome o;
    if (!t) {
        fprintf(out, "task,change,attack,algorithm,seed,first,since,end,final\n");
        return;
    }
    o = outcome_of(t, good);
    fprintf(out, "%s,%s,%s,%s,%d,%g,%g,%.6g,%.6g\n", t->task->name, t->label ? t->label : "none",
            t->attack->name, t->learner->name, (int)t->seed, o.first, o.since, o.end,
            t->score[t->points - 1]);
}
#endif /* TRIALS_H */
