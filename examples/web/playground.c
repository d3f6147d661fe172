/* playground.c - what the page of this folder calls: the two headers behind a few flat functions.
   `make web` makes WebAssembly of it (and of nothing else) in build/web.

   The first tab is a race of two runs with the same agents, attack and seed: one has the rule that
   was chosen, its ghost the mean. web_tick() does a part of a round and returns, so that the page
   can draw 60 times a second; web_play() lets both policies act meanwhile. The second tab asks
   every rule about the same ten points of the plane: web_aggregate().

   Numbers go by value or through arrays that the page finds by their address. What a name, a bound
   or a reason is, the page asks here, and this file asks the headers. */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "../stick.h"
#include "../envs/scaled.h"

#ifdef __EMSCRIPTEN__
#include <emscripten.h>
#define WEB_API EMSCRIPTEN_KEEPALIVE
#else
#define WEB_API
#endif

enum { MOST_AGENTS = 20, HIDDEN = 32, TEXT = 1024, POINTS = 10 };
enum { CHOSEN, GHOST, RUNS };
enum { EXAM_COST = 8 }; /* agents step side by side, an evaluation's trajectories one by one */

/* ---- the tasks: those of stick.h and how each is taught. CartPole has the recipe that
   rn_make_trainer_desc() sets; those with legs, and poles with motors, the tuned one. The page
   begins with the rule of the recipe, and may choose another. */
typedef struct lesson {
    const char *task;
    size_t rounds, horizon;    /* of training */
    size_t exam, trajectories; /* of an evaluation: horizon and how many */
    size_t every;              /* rounds from one evaluation to the next */
    double best;               /* what the learning curve goes up to */
    int tuned;
} lesson;

/* clang-format off */
static const lesson lessons[] = {
    {"CartPole",         100, 500, 500,  10, 1, 500,  0},
    {"InvertedPendulum", 300, 500, 1000, 4,  2, 1000, 1},
    {"HalfCheetah",      400, 250, 1000, 1,  5, 3500, 1}};

/* clang-format on */
enum { LESSONS = sizeof lessons / sizeof *lessons };

/* ---- what the page chooses */
typedef struct choice {
    int task, agents, f, rule, pre[2], attack;
    unsigned seed;
} choice;

/* where one agent lives: its task's state, in units that all share */
typedef struct place {
    stick_state state;
    scaled scaled;
} place;

/* the policy on the stage, in real time */
typedef struct actor {
    place place;
    rn_env env;
    rn_random random;
    rn_real obs[STICK_NUMBERS], act[STICK_NUMBERS];
    rn_step_result result;
    double late, camera; /* seconds not played yet; the x in the middle of the picture */
    int steps;           /* of this trajectory */
} actor;

typedef enum stage { EXAM, ROUND, READY } stage;

typedef struct racer {
    rn_trainer *trainer;
    rn_evaluator *exam;
    void *exam_memory;
    place agents[MOST_AGENTS], examined;
    rn_env exam_env;
    actor actor;
    stage stage; /* of the round under way: the round, its evaluation, done */
    double score;
} racer;

static struct {
    choice choice;
    const lesson *lesson;
    const stick_task *task;
    scaled unit; /* of the task's observations */
    rn_net net;
    rn_policy policy;
    void *work; /* of the policy, for one step */
    size_t work_size;
    unsigned adversaries; /* a bit for each agent, from the next round on */
    racer racer[RUNS];
    char text[TEXT];
} web;

/* ---- names. An index out of range has none: NULL ends a list. */
static const char *attack_of(int i, rn_attack *attack) {
    static const struct {
        const char *name;
        rn_attack_kind kind;
    } other[] = {{"random action", RN_ATTACK_RANDOM_ACTION},
                 {"reward flipping", RN_ATTACK_REWARD_FLIP},
                 {"reward poisoning", RN_ATTACK_REWARD_POISON},
                 {"silence", RN_ATTACK_SILENCE}};
    const int more = i - AGG_ATTACK_COUNT;
    memset(attack, 0, sizeof *attack);
    if (i < 0 || more >= (int)(sizeof other / sizeof *other)) return NULL;
    if (more >= 0)
        attack->kind = other[more].kind;
    else
        attack->vector.kind = (agg_attack_kind)i;
    return more >= 0 ? other[more].name : agg_attack_name(attack->vector.kind);
}

WEB_API const char *web_task_name(int i) { return i >= 0 && i < LESSONS ? lessons[i].task : NULL; }

WEB_API const char *web_rule_name(int i) {
    return i >= 0 && i < AGG_RULE_COUNT ? agg_rule_name((agg_rule)i) : NULL;
}

/* AGG_PRE_CLIP is not among them: its norm would have to be chosen */
static const agg_pre pres[] = {AGG_PRE_NONE, AGG_PRE_NNM, AGG_PRE_BUCKETING, AGG_PRE_ARC,
                               AGG_PRE_CLIP_MEDIAN};
enum { PRES = sizeof pres / sizeof *pres };

WEB_API const char *web_pre_name(int i) {
    return i >= 0 && i < PRES ? agg_pre_name(pres[i]) : NULL;
}

WEB_API const char *web_attack_name(int i) {
    rn_attack unused;
    return attack_of(i, &unused);
}

/* ---- a race is prepared */
static rn_env env_of(place *p) {
    const rn_env e = scaled_env(&p->scaled, web.task->env(&p->state));
    if (!web.lesson->tuned) return web.task->env(&p->state);
    scaled_copy(&p->scaled, &web.unit);
    return e;
}

static void measure_units(void) {
    static stick_state state;
    (void)scaled_env(&web.unit, web.task->env(&state));
    scaled_measure(&web.unit, 50, 100, 0.6);
}

static void make_policy(void) {
    place p;
    const rn_env e = web.task->env(&p.state);
    rn_net_desc d = rn_make_net_desc(e.obs_dim, e.actions ? e.actions : e.act_dim);
    d.hidden[0] = d.hidden[1] = e.actions ? HIDDEN / 2 : HIDDEN;
    d.gaussian = !e.actions;
    d.log_std = -0.5;
    d.log_std_min = -2;
    d.log_std_max = 2;
    web.policy = rn_make_net_policy(&web.net, &d);
    web.work_size = rn_policy_work_size(&web.policy, 0);
    web.work = malloc(web.work_size);
}

static rn_trainer_desc recipe(const lesson *l, size_t n, size_t f, const rn_env *envs) {
    return l->tuned ? rn_make_tuned_trainer_desc(n, f, envs, web.policy, l->rounds)
                    : rn_make_trainer_desc(n, f, envs, web.policy);
}

static rn_trainer_desc describe(const rn_env *envs, int ghost) {
    const choice *c = &web.choice;
    const size_t n = (size_t)c->agents, f = (size_t)c->f;
    rn_trainer_desc d = recipe(web.lesson, n, f, envs);
    d.server.agg.rule = ghost ? AGG_MEAN : (agg_rule)c->rule;
    for (int i = 0; i < 2; i++) d.server.agg.pre[i] = ghost ? AGG_PRE_NONE : pres[c->pre[i]];
    d.method.horizon = web.lesson->horizon;
    /* evidence is for agents whose eta the server knows and which are fewer than half */
    if (!web.lesson->tuned && 2 * f < n) d.server.watch = RN_WATCH_NEWS;
    (void)attack_of(c->attack, &d.attack); /* who attacks: before each round */
    d.seed = c->seed;
    return d;
}

static void begin_exam(racer *r) {
    const lesson *l = web.lesson;
    const rn_evaluation_desc d = {l->trajectories, l->exam, 0, web.choice.seed, 0};
    const rn_status s =
        rn_evaluator_init(&r->exam, &d, &r->exam_env, &web.policy, rn_trainer_theta(r->trainer),
                          r->exam_memory, rn_evaluator_size(&r->exam_env, &web.policy));
    r->stage = s == RN_OK ? EXAM : READY;
}

static int start_run(racer *r, int ghost) {
    rn_env envs[MOST_AGENTS];
    for (int i = 0; i < web.choice.agents; i++) envs[i] = env_of(&r->agents[i]);
    const rn_trainer_desc d = describe(envs, ghost);
    if (rn_trainer_create(&r->trainer, &d) != RN_OK) {
        (void)rn_trainer_explain(&d, web.text, sizeof web.text);
        return 0;
    }
    r->exam_env = env_of(&r->examined);
    r->exam_memory = malloc(rn_evaluator_size(&r->exam_env, &web.policy));
    r->actor.env = env_of(&r->actor.place);
    r->actor.random = rn_make_random(web.choice.seed, MOST_AGENTS);
    r->actor.result = RN_TRUNCATED;
    begin_exam(r); /* of the policy that has learned nothing */
    return 1;
}

static void end_race(void) {
    for (int i = 0; i < RUNS; i++) {
        rn_trainer_destroy(web.racer[i].trainer);
        free(web.racer[i].exam_memory);
    }
    free(web.work);
    memset(&web, 0, sizeof web);
}

static int in_range(const choice *c) {
    return web_task_name(c->task) && c->agents >= 1 && c->agents <= MOST_AGENTS && c->f >= 0 &&
           web_rule_name(c->rule) && web_pre_name(c->pre[0]) && web_pre_name(c->pre[1]) &&
           web_attack_name(c->attack);
}

/* 1: the race is on. 0: refused, and web_text() says why; nothing moves then. */
WEB_API int web_start(int task, int agents, int f, int rule, int pre0, int pre1, int attack,
                      unsigned seed, unsigned adversaries) {
    const choice c = {task, agents, f, rule, {pre0, pre1}, attack, seed};
    end_race();
    if (!in_range(&c)) return snprintf(web.text, TEXT, "a setting is out of range"), 0;
    web.choice = c;
    web.lesson = &lessons[task];
    web.task = stick_find(web.lesson->task);
    web.adversaries = adversaries;
    measure_units();
    make_policy();
    for (int i = 0; i < RUNS; i++)
        if (!start_run(&web.racer[i], i == GHOST)) return 0;
    return 1;
}

/* why web_start() refused, or what became of the last round */
WEB_API const char *web_text(void) { return web.text; }

/* a bit for each agent: who attacks from the next round on */
WEB_API void web_set_adversaries(unsigned mask) { web.adversaries = mask; }

/* ---- learning */
static void begin_round(racer *r) {
    rn_attack attack;
    (void)attack_of(web.choice.attack, &attack);
    for (int i = 0; i < web.choice.agents; i++)
        (void)rn_trainer_set_attack(r->trainer, (size_t)i,
                                    web.adversaries >> i & 1 ? &attack : NULL);
    r->stage = ROUND;
}

/* returns what is left of the budget */
static size_t advance(racer *r, size_t budget) {
    size_t used = 0;
    rn_evaluation got;
    if (r->stage == EXAM) {
        const rn_status s = rn_evaluator_tick(r->exam, budget / EXAM_COST + 1, &used, &got);
        used *= EXAM_COST;
        if (s == RN_OK) r->score = got.mean;
        if (s != RN_MORE) r->stage = READY;
    } else if (rn_trainer_tick(r->trainer, budget, &used) != RN_MORE) {
        r->stage = READY;
        if (rn_trainer_rounds_done(r->trainer) % web.lesson->every == 0) begin_exam(r);
    }
    return used < budget ? budget - used : 0;
}

/* Work for `budget` environment steps. 1: a round is over in both runs, evaluation included; the
   next call begins another. */
WEB_API int web_tick(int budget) {
    size_t left = budget > 0 ? (size_t)budget : 1;
    if (!web.racer[GHOST].trainer) return 0;
    if (web.racer[CHOSEN].stage == READY && web.racer[GHOST].stage == READY)
        for (int i = 0; i < RUNS; i++) begin_round(&web.racer[i]);
    for (int i = 0; i < RUNS; i++)
        while (left && web.racer[i].stage != READY) left = advance(&web.racer[i], left);
    return web.racer[CHOSEN].stage == READY && web.racer[GHOST].stage == READY;
}

static const rn_progress *progress_of(int who) {
    static const rn_progress none;
    const rn_progress *p = rn_trainer_progress(web.racer[who == GHOST].trainer);
    return p ? p : &none;
}

WEB_API int web_round(void) { return (int)rn_trainer_rounds_done(web.racer[GHOST].trainer); }

/* the mean return of the last evaluation */
WEB_API double web_score(int who) { return web.racer[who == GHOST].score; }

/* of the aggregate to the honest mean; -2: not known */
WEB_API double web_cosine(int who) { return progress_of(who)->cosine; }

/* "ok", or why the last round of the chosen rule made no step */
WEB_API const char *web_status(void) {
    const rn_progress *p = progress_of(CHOSEN);
    if (p->status == RN_ERR_AGGREGATE) return agg_status_text(p->aggregate);
    return rn_status_text(p->status);
}

/* a number for each agent, or NULL */
WEB_API const double *web_suspicion(void) { return progress_of(CHOSEN)->suspicion; }

WEB_API const double *web_evidence(void) { return progress_of(CHOSEN)->evidence; }

/* with a chance of 0.01 an honest agent of this race ever gets so far */
WEB_API double web_evidence_limit(void) {
    return rn_evidence_limit(0.01, (size_t)(web.choice.agents ? web.choice.agents : 1));
}

/* of a task: rounds until learning stops, rounds between evaluations, the most that is drawn */
WEB_API int web_rounds(int task) { return web_task_name(task) ? (int)lessons[task].rounds : 0; }

WEB_API int web_every(int task) { return web_task_name(task) ? (int)lessons[task].every : 0; }

/* of a task's recipe: the rule, and what stands before it, first (0) or second (1), as an index of
   web_pre_name() */
WEB_API int web_recipe_rule(int task) {
    if (!web_task_name(task)) return 0;
    return (int)recipe(&lessons[task], 10, 3, NULL).server.agg.rule;
}

WEB_API int web_recipe_pre(int task, int second) {
    int i = 0;
    if (!web_task_name(task) || second < 0 || second > 1) return 0;
    const rn_trainer_desc d = recipe(&lessons[task], 10, 3, NULL);
    while (i < PRES && pres[i] != d.server.agg.pre[second]) i++;
    return i < PRES ? i : 0;
}

WEB_API double web_best(int task) { return web_task_name(task) ? lessons[task].best : 0; }

/* ---- playing */
static void step_actor(actor *a, const rn_real *theta) {
    const agg_rng rng = rn_random_rng(&a->random);
    double reward;
    (void)rn_policy_act(&web.policy, theta, a->obs, NULL, a->act, web.work, web.work_size);
    a->result = a->env.step(a->env.self, a->act, &rng, a->obs, &reward);
    if (++a->steps >= (int)web.lesson->exam && a->result == RN_RUNNING) a->result = RN_TRUNCATED;
    if (a->result != RN_RUNNING) a->late = -0.6; /* a moment to see it lie there */
}

static double first_joint(const actor *a) {
    double x;
    memcpy(&x, &a->place.state, sizeof x);
    return web.task->follow ? x : 0;
}

/* both policies act, as they are by now, for so many seconds */
WEB_API void web_play(double seconds) {
    for (int i = 0; i < RUNS && web.racer[GHOST].trainer; i++) {
        actor *a = &web.racer[i].actor;
        const agg_rng rng = rn_random_rng(&a->random);
        for (a->late += seconds; a->late > 0; a->late -= stick_step(web.task)) {
            if (a->result != RN_RUNNING) {
                a->env.reset(a->env.self, &rng, a->obs);
                a->steps = 0;
                a->result = RN_RUNNING;
                a->camera = first_joint(a);
            }
            step_actor(a, rn_trainer_theta(web.racer[i].trainer));
            a->camera += 0.4 * (first_joint(a) - a->camera); /* 0.3 m behind at 4 m/s */
        }
    }
}

/* steps of the trajectory on the stage */
WEB_API int web_steps(int who) { return web.racer[who == GHOST].actor.steps; }

WEB_API double web_camera(int who) { return web.racer[who == GHOST].actor.camera; }

/* metres that the picture should show: above the ground, and from left to right */
WEB_API double web_height(void) { return web.task ? 0.75 * web.task->height : 1; }

WEB_API double web_width(void) { return web.task && web.task->follow ? 2.4 : 4; }

/* a digit for each capsule of the figure, its colour */
WEB_API const char *web_colours(void) { return web.task ? web.task->colours : ""; }

/* ax, az, bx, bz, radius of each capsule, in metres */
WEB_API const double *web_figure(int who) {
    static double out[5 * PLANAR_CAPSULES];
    planar_segment s[PLANAR_CAPSULES];
    double q[PLANAR_JOINTS];
    if (!web.task) return out;
    for (int i = 0; i < web.task->model->joints; i++)
        memcpy(&q[i],
               (const char *)&web.racer[who == GHOST].actor.place.state +
                   (size_t)i * web.task->stride * sizeof *q,
               sizeof *q);
    planar_segments(web.task->model, q, s);
    for (int i = 0; i < web.task->model->capsules; i++) {
        const double row[5] = {s[i].ax, s[i].az, s[i].bx, s[i].bz, s[i].radius};
        memcpy(out + 5 * i, row, sizeof row);
    }
    return out;
}

/* ---- ten points of the plane */
typedef struct answer {
    double status, x, y, error, lambda; /* error: to the honest mean; lambda: -1 none is stated */
} answer;

static struct {
    float xy[POINTS][2]; /* in */
    double mean[2], diameter;
    answer answer[AGG_RULE_COUNT]; /* out */
    char scratch[65536], text[128];
} plane;

WEB_API float *web_points(void) { return plane.xy[0]; }

WEB_API const double *web_honest_mean(void) { return plane.mean; }

WEB_API double web_diameter(void) { return plane.diameter; }

/* status, x, y, error, lambda of each rule */
WEB_API const double *web_answers(void) { return &plane.answer[0].status; }

/* the promise is about the honest: their mean, and the largest distance of two of them */
static void measure_honest(unsigned adversaries) {
    double count = 0;
    plane.mean[0] = plane.mean[1] = plane.diameter = 0;
    for (int i = 0; i < POINTS; i++) {
        if (adversaries >> i & 1) continue;
        count++;
        for (int k = 0; k < 2; k++)
            plane.mean[k] += ((double)plane.xy[i][k] - plane.mean[k]) / count;
        for (int j = 0; j < i; j++)
            if (!(adversaries >> j & 1))
                plane.diameter =
                    fmax(plane.diameter, hypot((double)plane.xy[i][0] - (double)plane.xy[j][0],
                                               (double)plane.xy[i][1] - (double)plane.xy[j][1]));
    }
}

/* rules that throw dice throw the same every time, or their answers would tremble */
static agg_desc plane_desc(int rule, int f, int pre, rn_random *random) {
    agg_desc d = agg_make_desc((agg_rule)rule, POINTS, 2, (size_t)f);
    d.pre[0] = pres[pre];
    *random = rn_make_random(1, 0);
    d.rng = rn_random_rng(random);
    return d;
}

/* Every rule's answer to the points. The first point is the one that MoNNA and FLTrust trust. 0: a
   setting is out of range. */
WEB_API int web_aggregate(int f, int pre, unsigned adversaries) {
    const float *rows[POINTS];
    if (f < 0 || !web_pre_name(pre)) return 0;
    for (int i = 0; i < POINTS; i++) rows[i] = plane.xy[i];
    measure_honest(adversaries);
    for (int rule = 0; rule < AGG_RULE_COUNT; rule++) {
        float out[2] = {0, 0};
        rn_random random;
        const agg_desc d = plane_desc(rule, f, pre, &random);
        const agg_status s =
            agg_aggregate(&d, rows, out, plane.scratch, sizeof plane.scratch, NULL);
        const answer a = {(double)s, (double)out[0], (double)out[1],
                          hypot((double)out[0] - plane.mean[0], (double)out[1] - plane.mean[1]),
                          pre ? -1 : agg_lambda(d.rule, POINTS, (size_t)f, 2)};
        plane.answer[rule] = a;
    }
    return 1;
}

/* why a rule refuses, in words */
WEB_API const char *web_reason(int rule, int f, int pre) {
    rn_random random;
    if (!web_rule_name(rule) || f < 0 || !web_pre_name(pre)) return "out of range";
    const agg_desc d = plane_desc(rule, f, pre, &random);
    (void)agg_explain(&d, plane.text, sizeof plane.text);
    return plane.text;
}
