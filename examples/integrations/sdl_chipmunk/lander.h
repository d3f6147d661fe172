/* lander.h - a lander on Chipmunk2D, as a game has it and as an rn_env: the same body, the same
   rules. Metres and seconds, y is up, the middle of the pad is (0, 0).

       lander l;
       lander_open(&l, 7);               // 7: the seed of the hills
       rn_env env = lander_env(&l);      // for training: reset and step
       lander_control(&l, action);       // for a game: an action each LANDER_SUBSTEPS frames,
       lander_move(&l);                  //   1/60 s each frame
       lander_close(&l);

   An action is main + turn: the main engine off 0 or on 3; turning not 0, left 1 or right 2. */
#ifndef LANDER_H
#define LANDER_H
#include "resnharpg.h"
#include <chipmunk/chipmunk.h>
#include <math.h>
#include <string.h>

enum { LANDER_OBS = 8, LANDER_ACTIONS = 6, LANDER_SUBSTEPS = 4, LANDER_HORIZON = 200 };

enum { LANDER_HILLS = 41, LANDER_TRAIL = LANDER_HORIZON + 1 };

typedef enum lander_outcome {
    LANDER_FLYING,
    LANDER_LANDED,
    LANDER_CRASHED,
    LANDER_LOST
} lander_outcome;

#define LANDER_FRAME   (1.0 / 60)
#define LANDER_WIDTH   10.0 /* the world is -10 .. 10 wide */
#define LANDER_CEILING 12.0
#define LANDER_PAD     1.6 /* half of it */
#define LANDER_GRAVITY 1.6
#define LANDER_THRUST  3.6
#define LANDER_TORQUE  1.1
#define LANDER_GENTLE  1.4 /* m/s that the legs bear */

/* what may touch, as Chipmunk's collision types; the first three are indices of `touches` too */
enum { LANDER_HULL, LANDER_LEFT, LANDER_RIGHT, LANDER_ON_PAD, LANDER_ON_ROCK, LANDER_PARTS = 3 };

static const cpVect lander_hull[] = {{-0.55, -0.4}, {0.55, -0.4}, {0.4, 0.45}, {-0.4, 0.45}};
static const cpVect lander_foot[] = {{-0.75, -0.75}, {0.75, -0.75}};

typedef struct lander {
    cpSpace *space;
    cpBody *body;
    double hill[LANDER_HILLS]; /* heights, from left to right */
    int touches[LANDER_PARTS]; /* in this frame */
    int off_pad;               /* something touched rock */
    double impact;             /* fastest touch so far */
    int rest;                  /* steps of standing still */
    int main, turn;            /* engines now: 0 or 1; -1, 0 or 1 */
    lander_outcome outcome;
    double potential; /* of the reward */
    int steps;
    float trail[LANDER_TRAIL][2]; /* where it was, step by step, ... */
    int trail_length;
    float old_trail[LANDER_TRAIL][2]; /* ... and on the flight before */
    int old_trail_length;
    lander_outcome old_outcome;
} lander;

/* ---- the world */

static double lander_hill_x(int i) {
    return LANDER_WIDTH * (2.0 * i / (LANDER_HILLS - 1) - 1) * 1.2;
}

/* flat in the middle, higher and rougher towards the sides */
static void lander_make_hills(lander *l, uint64_t seed) {
    rn_random random = rn_make_random(seed, 0);
    const agg_rng rng = rn_random_rng(&random);
    for (int i = 0; i < LANDER_HILLS; i++) {
        const double away = fabs(lander_hill_x(i)) - LANDER_PAD - 0.4;
        const double rough = rn_draw_uniform(&rng);
        l->hill[i] = away <= 0 ? 0 : (0.25 + 0.75 * rough) * (1 - exp(-away / 4)) * 2.4;
    }
}

static void lander_add_ground(lander *l, cpVect from, cpVect to, cpCollisionType type) {
    cpShape *s = cpSegmentShapeNew(cpSpaceGetStaticBody(l->space), from, to, 0.05);
    cpShapeSetFriction(s, 1);
    cpShapeSetCollisionType(s, type);
    cpSpaceAddShape(l->space, s);
}

static void lander_add_part(lander *l, cpShape *s, cpCollisionType type) {
    cpShapeSetFriction(s, 1);
    cpShapeSetCollisionType(s, type);
    cpSpaceAddShape(l->space, s);
}

/* which part, and what it touches */
static int lander_part(cpArbiter *a, cpCollisionType *ground) {
    cpShape *x, *y;
    cpArbiterGetShapes(a, &x, &y);
    *ground = cpShapeGetCollisionType(y);
    return (int)cpShapeGetCollisionType(x);
}

static cpBool lander_begin_touch(cpArbiter *a, cpSpace *space, cpDataPointer self) {
    lander *l = (lander *)self;
    const double speed = cpvlength(cpBodyGetVelocity(l->body));
    (void)a, (void)space;
    if (speed > l->impact) l->impact = speed;
    return cpTrue;
}

static cpBool lander_touch(cpArbiter *a, cpSpace *space, cpDataPointer self) {
    lander *l = (lander *)self;
    cpCollisionType ground;
    const int part = lander_part(a, &ground);
    (void)space;
    if (part < LANDER_PARTS) l->touches[part] = 1;
    if (ground == LANDER_ON_ROCK) l->off_pad = 1;
    return cpTrue;
}

static void lander_open(lander *l, uint64_t hills) {
    memset(l, 0, sizeof *l);
    lander_make_hills(l, hills);
    l->space = cpSpaceNew();
    cpSpaceSetGravity(l->space, cpv(0, -LANDER_GRAVITY));
    l->body = cpSpaceAddBody(l->space, cpBodyNew(1, 0.3));
    lander_add_part(l, cpPolyShapeNewRaw(l->body, 4, lander_hull, 0.02), LANDER_HULL);
    for (int i = 0; i < 2; i++)
        lander_add_part(l, cpCircleShapeNew(l->body, 0.1, lander_foot[i]),
                        (cpCollisionType)(LANDER_LEFT + i));
    for (int i = 0; i + 1 < LANDER_HILLS; i++) {
        const cpVect from = cpv(lander_hill_x(i), l->hill[i]);
        const cpVect to = cpv(lander_hill_x(i + 1), l->hill[i + 1]);
        const int pad = fabs(from.x) < LANDER_PAD + 0.3 && fabs(to.x) < LANDER_PAD + 0.3;
        lander_add_ground(l, from, to, pad ? LANDER_ON_PAD : LANDER_ON_ROCK);
    }
    for (int part = 0; part < LANDER_PARTS; part++) {
        cpCollisionHandler *h = cpSpaceAddWildcardHandler(l->space, (cpCollisionType)part);
        h->beginFunc = lander_begin_touch;
        h->preSolveFunc = lander_touch;
        h->userData = l;
    }
}

static void lander_free_shape(cpBody *body, cpShape *s, void *space) {
    (void)body;
    cpSpaceRemoveShape((cpSpace *)space, s);
    cpShapeFree(s);
}

static void lander_close(lander *l) {
    cpBodyEachShape(cpSpaceGetStaticBody(l->space), lander_free_shape, l->space);
    cpBodyEachShape(l->body, lander_free_shape, l->space);
    cpSpaceRemoveBody(l->space, l->body);
    cpBodyFree(l->body);
    cpSpaceFree(l->space);
}

/* ---- flying */

static void lander_control(lander *l, int action) {
    static const int turns[] = {0, 1, -1};
    l->main = action >= 3;
    l->turn = turns[action % 3];
}

static lander_outcome lander_judge(const lander *l) {
    const cpVect p = cpBodyGetPosition(l->body);
    if (fabs(p.x) > LANDER_WIDTH || p.y > LANDER_CEILING) return LANDER_LOST;
    if (l->touches[LANDER_HULL] || l->off_pad || l->impact > LANDER_GENTLE) return LANDER_CRASHED;
    return l->rest >= 5 ? LANDER_LANDED : LANDER_FLYING;
}

/* a frame; a lander whose flight is over only falls */
static void lander_move(lander *l) {
    memset(l->touches, 0, sizeof l->touches);
    if (l->outcome != LANDER_FLYING) l->main = l->turn = 0;
    if (l->main) cpBodyApplyForceAtLocalPoint(l->body, cpv(0, LANDER_THRUST), cpvzero);
    cpBodySetTorque(l->body, l->turn * LANDER_TORQUE);
    cpSpaceStep(l->space, LANDER_FRAME);
    if (l->outcome == LANDER_FLYING) l->outcome = lander_judge(l);
}

/* ---- as an environment */

/* Far away, fast and aslant is bad: what a step betters is its reward. */
static double lander_potential(const lander *l) {
    const double far_away = cpvlength(cpBodyGetPosition(l->body)) / 5;
    const double fast = cpvlength(cpBodyGetVelocity(l->body)) / 2;
    const double legs = 0.1 * (l->touches[LANDER_LEFT] + l->touches[LANDER_RIGHT]);
    return legs - far_away - fast - 0.7 * fabs(cpBodyGetAngle(l->body));
}

/* each about as large as 1 */
static void lander_observe(const lander *l, rn_real *obs) {
    const cpVect p = cpBodyGetPosition(l->body), v = cpBodyGetVelocity(l->body);
    obs[0] = (rn_real)(p.x / 4);
    obs[1] = (rn_real)(p.y / 4);
    obs[2] = (rn_real)(v.x / 2);
    obs[3] = (rn_real)(v.y / 2);
    obs[4] = (rn_real)(2 * cpBodyGetAngle(l->body));
    obs[5] = (rn_real)cpBodyGetAngularVelocity(l->body);
    obs[6] = (rn_real)l->touches[LANDER_LEFT];
    obs[7] = (rn_real)l->touches[LANDER_RIGHT];
}

static void lander_mark(lander *l) {
    const cpVect p = cpBodyGetPosition(l->body);
    if (l->trail_length == LANDER_TRAIL) return;
    l->trail[l->trail_length][0] = (float)p.x;
    l->trail[l->trail_length++][1] = (float)p.y;
}

static double lander_between(const agg_rng *rng, double low, double high) {
    return low + (high - low) * rn_draw_uniform(rng);
}

static void lander_reset(lander *l, const agg_rng *rng) {
    memcpy(l->old_trail, l->trail, sizeof l->trail);
    l->old_trail_length = l->trail_length;
    l->old_outcome = l->outcome;
    cpBodySetPosition(l->body, cpv(lander_between(rng, -6, 6), lander_between(rng, 7, 9.5)));
    cpBodySetVelocity(l->body, cpv(lander_between(rng, -1.5, 1.5), lander_between(rng, -1.5, 0)));
    cpBodySetAngle(l->body, lander_between(rng, -0.4, 0.4));
    cpBodySetAngularVelocity(l->body, lander_between(rng, -0.4, 0.4));
    cpSpaceReindexShapesForBody(l->space, l->body);
    memset(l->touches, 0, sizeof l->touches);
    l->off_pad = l->rest = l->main = l->turn = l->steps = l->trail_length = 0;
    l->impact = 0;
    l->outcome = LANDER_FLYING;
    l->potential = lander_potential(l);
    lander_mark(l);
}

/* after the frames of an action: is it at rest? */
static void lander_end_step(lander *l) {
    const int still = cpvlength(cpBodyGetVelocity(l->body)) < 0.15 && !l->main;
    const int stands = still && l->touches[LANDER_LEFT] && l->touches[LANDER_RIGHT];
    l->rest = stands ? l->rest + 1 : 0;
    if (l->outcome == LANDER_FLYING) l->outcome = lander_judge(l);
    l->steps++;
    lander_mark(l);
}

static void lander_env_reset(void *self, const agg_rng *rng, rn_real *obs) {
    lander_reset((lander *)self, rng);
    lander_observe((const lander *)self, obs);
}

static rn_step_result lander_env_step(void *self, const rn_real *act, const agg_rng *rng,
                                      rn_real *obs, double *reward) {
    static const double end[] = {0, 2, -2, -2}; /* by outcome */
    lander *l = (lander *)self;
    const double before = l->potential;
    (void)rng;
    lander_control(l, (int)act[0]);
    for (int i = 0; i < LANDER_SUBSTEPS && l->outcome == LANDER_FLYING; i++) lander_move(l);
    lander_end_step(l);
    lander_observe(l, obs);
    l->potential = lander_potential(l);
    *reward = l->potential - before + end[l->outcome] - 0.005 - 0.003 * l->main;
    return l->outcome == LANDER_FLYING ? RN_RUNNING : RN_TERMINATED;
}

static rn_env lander_env(lander *l) {
    rn_env e;
    memset(&e, 0, sizeof e);
    e.self = l;
    e.reset = lander_env_reset;
    e.step = lander_env_step;
    e.obs_dim = LANDER_OBS;
    e.act_dim = 1;
    e.actions = LANDER_ACTIONS;
    return e;
}
#endif /* LANDER_H */
