/* game.h - the state of the game and its rules: who flies, what the player does, the score. Nothing
   here draws. */
#ifndef GAME_H
#define GAME_H
#include "learner.h"
#include "pilot.c" /* what was learned once, as plain C: int pilot_act(obs, bits, act) */

enum { SCORES = 20, SPARKS = 160, PAUSE = 75 };

typedef enum pilot { PILOT_LEARNING, PILOT_SHIPPED, PILOT_YOU, PILOTS } pilot;

typedef struct spark {
    float x, y, vx, vy, life;
    unsigned rgb;
} spark;

typedef struct game {
    learner learner;
    lander flight;    /* the one that is watched */
    pilot who;        /* who flies it; a key held down overrules */
    int by_hand;      /* in this frame */
    int keys;         /* as an action */
    int frame, pause; /* pause: frames until the next flight */
    int landed[SCORES];
    int flights; /* the last SCORES of them are in landed */
    spark sparks[SPARKS];
    int next_spark;
    rn_random chance; /* of flights and sparks, not of learning */
    int quit;
} game;

static double game_draw(game *g, double low, double high) {
    const agg_rng rng = rn_random_rng(&g->chance);
    return low + (high - low) * rn_draw_uniform(&rng);
}

/* ---- sparks */

static void game_spark(game *g, cpVect at, cpVect speed, double life, unsigned rgb) {
    spark *s = &g->sparks[g->next_spark++ % SPARKS];
    s->x = (float)at.x;
    s->y = (float)at.y;
    s->vx = (float)(speed.x + game_draw(g, -0.6, 0.6));
    s->vy = (float)(speed.y + game_draw(g, -0.6, 0.6));
    s->life = (float)life;
    s->rgb = rgb;
}

static void game_burst(game *g, unsigned rgb, double speed) {
    const cpVect at = cpBodyGetPosition(g->flight.body);
    for (int i = 0; i < 60; i++) {
        const double a = game_draw(g, 0, 6.283), v = speed * game_draw(g, 0.2, 1);
        game_spark(g, at, cpv(v * cos(a), v * sin(a) + 1), game_draw(g, 0.5, 1.4), rgb);
    }
}

static void game_move_sparks(game *g) {
    for (int i = 0; i < SPARKS; i++) {
        spark *s = &g->sparks[i];
        s->x += s->vx / 60;
        s->y += s->vy / 60;
        s->vy -= (float)LANDER_GRAVITY / 60;
        s->life -= 1.0f / 60;
    }
}

/* ---- a flight */

static void game_begin_flight(game *g) {
    const agg_rng rng = rn_random_rng(&g->chance);
    lander_reset(&g->flight, &rng);
    g->pause = PAUSE;
}

static int game_shipped_act(const rn_real *obs) {
    rn_real act = 0;
    (void)pilot_act(obs, NULL, &act);
    return (int)act;
}

static int game_choose(game *g) {
    rn_real obs[LANDER_OBS];
    lander_observe(&g->flight, obs);
    if (g->by_hand) return g->keys;
    return g->who == PILOT_SHIPPED ? game_shipped_act(obs) : learner_act(&g->learner, obs);
}

static void game_end_flight(game *g) {
    const int landed = g->flight.outcome == LANDER_LANDED;
    g->landed[g->flights++ % SCORES] = landed;
    game_burst(g, landed ? 0x7CFFB2 : 0xFF7A3D, landed ? 2 : 5);
}

/* engines throw sparks; an action lasts LANDER_SUBSTEPS frames, as in training */
static void game_move_flight(game *g) {
    lander *l = &g->flight;
    const lander_outcome before = l->outcome;
    const int first = g->frame % LANDER_SUBSTEPS == 0;
    if (before == LANDER_FLYING && (first || g->by_hand)) lander_control(l, game_choose(g));
    lander_move(l);
    if (l->main)
        game_spark(g, cpBodyLocalToWorld(l->body, cpv(0, -0.6)),
                   cpvrotate(cpv(0, -3), cpBodyGetRotation(l->body)), 0.4, 0xFFC35C);
    if (before == LANDER_FLYING && g->frame % LANDER_SUBSTEPS == LANDER_SUBSTEPS - 1)
        lander_end_step(l);
    if (before == LANDER_FLYING && l->steps >= 3 * LANDER_HORIZON) l->outcome = LANDER_LOST;
    if (before == LANDER_FLYING && l->outcome != LANDER_FLYING) game_end_flight(g);
    if (l->outcome != LANDER_FLYING && g->pause-- <= 0) game_begin_flight(g);
}

/* a frame of everything but learning */
static void game_move(game *g) {
    g->by_hand = g->keys > 0 || g->who == PILOT_YOU;
    game_move_flight(g);
    game_move_sparks(g);
    g->frame++;
}

static void game_open(game *g, uint64_t seed, pilot who) {
    memset(g, 0, sizeof *g);
    g->who = who;
    g->chance = rn_make_random(seed, 1000);
    learner_open(&g->learner, seed, 7);
    lander_open(&g->flight, 7);
    game_begin_flight(g);
}

static void game_close(game *g) {
    lander_close(&g->flight);
    learner_close(&g->learner);
}

static int game_score(const game *g) {
    int landed = 0;
    for (int i = 0; i < SCORES; i++) landed += g->landed[i];
    return landed;
}

static int game_is_suspected(const game *g, int agent) {
    return learner_evidence(&g->learner, agent) >= learner_limit();
}

/* corrupted ones, those of them that are suspected, and honest ones that are */
static int game_corrupted(const game *g) {
    int n = 0;
    for (int i = 0; i < AGENTS; i++) n += g->learner.corrupted[i];
    return n;
}

static int game_caught(const game *g) {
    int n = 0;
    for (int i = 0; i < AGENTS; i++) n += g->learner.corrupted[i] && game_is_suspected(g, i);
    return n;
}

static int game_framed(const game *g) {
    int n = 0;
    for (int i = 0; i < AGENTS; i++) n += !g->learner.corrupted[i] && game_is_suspected(g, i);
    return n;
}

/* ---- what the player does to it */

static void game_gust(game *g) {
    cpBodyApplyImpulseAtWorldPoint(g->flight.body,
                                   cpv(game_draw(g, -2.5, 2.5), game_draw(g, -0.5, 0.5)),
                                   cpBodyLocalToWorld(g->flight.body, cpv(0, 0.15)));
}

static void game_toggle_corrupted(game *g, int agent) {
    g->learner.corrupted[agent] = !g->learner.corrupted[agent];
}

static void game_toggle_rule(game *g) {
    g->learner.trusting = !g->learner.trusting;
    learner_start(&g->learner, 1);
}

static void game_next_pilot(game *g) {
    g->who = (pilot)((g->who + 1) % PILOTS);
    memset(g->landed, 0, sizeof g->landed);
    g->flights = 0;
}
#endif /* GAME_H */
