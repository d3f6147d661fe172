/* scene.h - the game as a picture: the world on the left, who learns and who lies on the right. */
#ifndef SCENE_H
#define SCENE_H
#include "draw.h"
#include "game.h"
#include <stdio.h>

enum { SCENE_WIDTH = 960, SCENE_HEIGHT = 600, SCENE_WORLD = 690, SCENE_STARS = 110 };

static const double scene_scale = 34.5; /* pixels of a metre */

enum { WHITE = 0xF2F4FF, DIM = 0x8A93B8, BLUE = 0x7DB8FF, RED = 0xFF5468, GREEN = 0x7CFFB2 };

static draw_point scene_point(double x, double y) {
    draw_point p;
    p.x = SCENE_WORLD / 2.0 + scene_scale * x;
    p.y = SCENE_HEIGHT - 78 - scene_scale * y;
    return p;
}

static draw_point scene_of_body(cpBody *b, double x, double y) {
    const cpVect p = cpBodyLocalToWorld(b, cpv(x, y));
    return scene_point(p.x, p.y);
}

/* ---- the world */

static void scene_draw_sky(SDL_Renderer *to) {
    draw_fade(to, 0, 0, SCENE_WORLD, 380, draw_colour(0x080C1E, 1), draw_colour(0x2A2352, 1));
    draw_fade(to, 0, 380, SCENE_WORLD, 220, draw_colour(0x2A2352, 1), draw_colour(0x7A4A6A, 1));
    for (int i = 0; i < SCENE_STARS; i++) {
        const unsigned h = (unsigned)i * 2654435761u;
        const double x = h % SCENE_WORLD, y = (h >> 10) % 380, size = 1 + (h >> 20) % 2;
        draw_box(to, x, y, size, size, draw_colour(WHITE, (0.3 + 0.1 * (i % 7)) * (1 - y / 420)));
    }
}

static void scene_draw_planet(SDL_Renderer *to) {
    enum { SIDES = 48 };
    draw_point p[SIDES];
    for (int i = 0; i < SIDES; i++) {
        const double a = 6.28318530718 * i / SIDES;
        p[i].x = 560 + 46 * cos(a);
        p[i].y = 112 + 46 * sin(a);
    }
    draw_shape(to, p, SIDES, draw_colour(0xC9B7D9, 0.22));
    draw_outline(to, p, SIDES, 2.5, draw_colour(0xE9DFF2, 0.35));
}

/* a ridge from left to right, filled down to the bottom */
static void scene_draw_ridge(SDL_Renderer *to, draw_point a, draw_point b, unsigned top,
                             unsigned low) {
    const SDL_Color above = draw_colour(top, 1), below = draw_colour(low, 1);
    const SDL_Vertex v[] = {draw_vertex(a.x, a.y, above), draw_vertex(b.x, b.y, above),
                            draw_vertex(b.x, SCENE_HEIGHT, below),
                            draw_vertex(a.x, SCENE_HEIGHT, below)};
    draw_quad(to, v);
}

static void scene_draw_far_hills(SDL_Renderer *to) {
    draw_point last = {0, 0};
    for (int i = 0; i <= 46; i++) {
        const double x = 15.0 * i;
        const draw_point p = {x, 440 - 26 * sin(x * 0.011 + 1) - 11 * sin(x * 0.037)};
        if (i) scene_draw_ridge(to, last, p, 0x4A3560, 0x241C38);
        last = p;
    }
}

static void scene_draw_ground(SDL_Renderer *to, const lander *l) {
    for (int i = 0; i + 1 < LANDER_HILLS; i++) {
        const draw_point a = scene_point(lander_hill_x(i), l->hill[i]);
        const draw_point b = scene_point(lander_hill_x(i + 1), l->hill[i + 1]);
        scene_draw_ridge(to, a, b, 0x2C2740, 0x0E0C16);
        draw_line(to, a, b, 2, draw_colour(0x9D8FB8, 0.8));
    }
}

static void scene_draw_pad(SDL_Renderer *to, int frame) {
    const draw_point a = scene_point(-LANDER_PAD, 0), b = scene_point(LANDER_PAD, 0);
    const double blink = frame / 30 % 2 ? 1 : 0.35;
    draw_box(to, a.x, a.y - 2, b.x - a.x, 7, draw_colour(0xE8E2C8, 1));
    for (int i = 0; i < 8; i++)
        draw_box(to, a.x + (b.x - a.x) * i / 8, a.y + 1, (b.x - a.x) / 16, 4,
                 draw_colour(0xD9822B, 1));
    draw_box(to, a.x - 4, a.y - 8, 4, 8, draw_colour(RED, blink));
    draw_box(to, b.x, b.y - 8, 4, 8, draw_colour(RED, blink));
}

/* the last flight of each learner */
static void scene_draw_trails(SDL_Renderer *to, const learner *l) {
    for (int i = 0; i < AGENTS; i++) {
        const lander *w = &l->worlds[i];
        const SDL_Color c = l->corrupted[i] ? draw_colour(RED, 0.5) : draw_colour(BLUE, 0.4);
        for (int k = 0; k + 3 < w->old_trail_length; k += 3) {
            const float *a = w->old_trail[k], *b = w->old_trail[k + 3];
            draw_line(to, scene_point((double)a[0], (double)a[1]),
                      scene_point((double)b[0], (double)b[1]), 1.6, c);
        }
    }
}

static void scene_draw_flame(SDL_Renderer *to, cpBody *b, double x, double y, double dx, double dy,
                             double wide) {
    const draw_point a = scene_of_body(b, x - wide * (dy != 0), y - wide * (dx != 0));
    const draw_point c = scene_of_body(b, x + wide * (dy != 0), y + wide * (dx != 0));
    const draw_point tip = scene_of_body(b, x + dx, y + dy);
    const SDL_Vertex v[] = {draw_vertex(a.x, a.y, draw_colour(0xFFF2B0, 0.95)),
                            draw_vertex(c.x, c.y, draw_colour(0xFFF2B0, 0.95)),
                            draw_vertex(tip.x, tip.y, draw_colour(0xFF6A2B, 0.1))};
    SDL_RenderGeometry(to, NULL, v, 3, NULL, 0);
}

static void scene_draw_flames(SDL_Renderer *to, const game *g) {
    const lander *l = &g->flight;
    const double flicker = 0.75 + 0.25 * sin(g->frame * 1.7);
    if (l->main) scene_draw_flame(to, l->body, 0, -0.45, 0, -1.1 * flicker, 0.2);
    if (l->turn)
        scene_draw_flame(to, l->body, 0.45 * l->turn, 0.3, 0.5 * flicker * l->turn, 0, 0.08);
}

static void scene_draw_lander(SDL_Renderer *to, const game *g) {
    const lander *l = &g->flight;
    const unsigned hull = l->outcome == LANDER_CRASHED ? 0x8A5A55 : 0xE4E8F5;
    draw_point p[4];
    scene_draw_flames(to, g);
    for (int i = 0; i < 2; i++) {
        const draw_point foot = scene_of_body(l->body, lander_foot[i].x, lander_foot[i].y - 0.08);
        const double side = i ? 1 : -1;
        draw_line(to, scene_of_body(l->body, side * 0.42, -0.35), foot, 2.6, draw_colour(DIM, 1));
        draw_line(to, scene_of_body(l->body, side * 0.92, -0.83),
                  scene_of_body(l->body, side * 0.58, -0.83), 3, draw_colour(WHITE, 1));
    }
    for (int i = 0; i < 4; i++) p[i] = scene_of_body(l->body, lander_hull[i].x, lander_hull[i].y);
    draw_shape(to, p, 4, draw_colour(hull, 1));
    draw_outline(to, p, 4, 1.8, draw_colour(g->by_hand ? GREEN : 0x5B6796, 1));
    p[0] = scene_of_body(l->body, -0.2, 0.02), p[1] = scene_of_body(l->body, 0.2, 0.02);
    p[2] = scene_of_body(l->body, 0.16, 0.28), p[3] = scene_of_body(l->body, -0.16, 0.28);
    draw_shape(to, p, 4, draw_colour(0x2F6FB5, 1));
    draw_line(to, scene_of_body(l->body, -0.5, -0.2), scene_of_body(l->body, 0.5, -0.2), 2,
              draw_colour(0xD9822B, 1));
}

static void scene_draw_sparks(SDL_Renderer *to, const game *g) {
    for (int i = 0; i < SPARKS; i++) {
        const spark *s = &g->sparks[i];
        const draw_point p = scene_point((double)s->x, (double)s->y);
        if (s->life > 0 && p.x < SCENE_WORLD - 3)
            draw_box(to, p.x, p.y, 3, 3, draw_colour(s->rgb, 1.5 * (double)s->life));
    }
}

static void scene_draw_words(SDL_Renderer *to, const game *g) {
    static const char *const pilots[] = {"learning now", "shipped pilot.c", "you"};
    static const char *const banner[] = {NULL, "landed", "crashed", "lost"};
    const char *end = banner[g->flight.outcome];
    const int count = g->flights < SCORES ? g->flights : SCORES;
    char text[80];
    draw_text(to, 22, 20, 2, draw_colour(DIM, 1), "pilot");
    draw_text(to, 94, 20, 2, draw_colour(g->by_hand ? GREEN : WHITE, 1),
              pilots[g->by_hand ? PILOT_YOU : g->who]);
    snprintf(text, sizeof text, "landed %d of the last %d", game_score(g), count);
    draw_text(to, 22, 42, 2, draw_colour(DIM, 1), text);
    if (end)
        draw_text(to, (SCENE_WORLD - draw_text_width(end, 5)) / 2, 210, 5,
                  draw_colour(g->flight.outcome == LANDER_LANDED ? GREEN : RED, 0.9), end);
}

/* ---- the panel */

static void scene_draw_curve(SDL_Renderer *to, const learner *l, double x, double y) {
    const double wide = 226, high = 74;
    const int rounds = learner_rounds(l) < CURVE ? learner_rounds(l) : CURVE;
    draw_point last = {0, 0};
    draw_box(to, x, y, wide, high, draw_colour(0x0A0E1F, 1));
    for (int i = 0; i < rounds; i++) {
        const double value = ((double)l->curve[i] + 4) / 8.5; /* returns are about -4 .. 4 */
        const double v = value < 0 ? 0 : value > 1 ? 1 : value;
        const draw_point p = {x + wide * i / CURVE, y + high * (1 - v)};
        if (i) draw_line(to, last, p, 1.6, draw_colour(GREEN, 0.9));
        last = p;
    }
}

/* number, a bar of evidence up to the limit, and what is known of it */
static void scene_draw_agent(SDL_Renderer *to, const learner *l, int i, double x, double y) {
    const double share = learner_evidence(l, i) / learner_limit();
    const double bar = share < 0 ? 0 : share > 1 ? 1 : share;
    const int suspected = share >= 1;
    char number[4];
    snprintf(number, sizeof number, "%d", (i + 1) % 10);
    draw_text(to, x, y, 2, draw_colour(l->corrupted[i] ? RED : WHITE, 1), number);
    draw_box(to, x + 22, y, 84, 14, draw_colour(0x0A0E1F, 1));
    draw_box(to, x + 22, y, 84 * bar, 14, draw_colour(suspected ? RED : 0x6F7FB5, 1));
    if (suspected) draw_text(to, x + 116, y, 2, draw_colour(RED, 1), "suspect");
    if (l->corrupted[i]) draw_box(to, x + 214, y, 12, 14, draw_colour(RED, 1));
}

static void scene_draw_panel(SDL_Renderer *to, const game *g) {
    static const char *const keys[][2] = {
        {"arrows", "fly yourself"}, {"space", "next pilot"}, {"1 to 0", "corrupt one"},
        {"m", "mean or mda"},       {"g", "a gust"},         {"r", "learn anew"}};
    const learner *l = &g->learner;
    const double x = SCENE_WORLD + 22;
    char text[64];
    draw_text(to, x, 20, 3, draw_colour(WHITE, 1), "lander");
    snprintf(text, sizeof text, "round %d", learner_rounds(l));
    draw_text(to, x, 54, 2, draw_colour(DIM, 1), text);
    scene_draw_curve(to, l, x, 76);
    draw_text(to, x, 166, 2, draw_colour(l->trusting ? RED : GREEN, 1),
              l->trusting ? "rule: mean" : "rule: mda behind nnm");
    draw_text(to, x, 192, 2, draw_colour(DIM, 1), "evidence");
    draw_box(to, x + 194, 193, 12, 12, draw_colour(RED, 1));
    draw_text(to, x + 122, 192, 2, draw_colour(DIM, 1), "truth");
    for (int i = 0; i < AGENTS; i++) scene_draw_agent(to, l, i, x, 218 + 23 * i);
    for (int i = 0; i < 6; i++) {
        draw_text(to, x, 466 + 21 * i, 2, draw_colour(WHITE, 0.75), keys[i][0]);
        draw_text(to, x + 86, 466 + 21 * i, 2, draw_colour(DIM, 1), keys[i][1]);
    }
}

/* ---- all of it */

typedef struct scene {
    SDL_Renderer *to;
    SDL_Texture *still; /* what does not move, drawn once; NULL: not yet */
} scene;

static void scene_draw_still(scene *s, const lander *l) {
    SDL_Texture *before = SDL_GetRenderTarget(s->to);
    s->still = SDL_CreateTexture(s->to, SDL_PIXELFORMAT_ARGB8888, SDL_TEXTUREACCESS_TARGET,
                                 SCENE_WIDTH, SCENE_HEIGHT);
    SDL_SetRenderTarget(s->to, s->still);
    scene_draw_sky(s->to);
    scene_draw_planet(s->to);
    scene_draw_far_hills(s->to);
    scene_draw_ground(s->to, l);
    draw_fade(s->to, SCENE_WORLD, 0, SCENE_WIDTH - SCENE_WORLD, SCENE_HEIGHT,
              draw_colour(0x171C33, 1), draw_colour(0x10131F, 1));
    SDL_SetRenderTarget(s->to, before);
}

static void scene_forget(scene *s) {
    if (s->still) SDL_DestroyTexture(s->still);
    s->still = NULL;
}

static void scene_draw(scene *s, const game *g) {
    SDL_Renderer *to = s->to;
    if (!s->still) scene_draw_still(s, &g->flight);
    SDL_RenderCopy(to, s->still, NULL, NULL);
    scene_draw_pad(to, g->frame);
    scene_draw_trails(to, &g->learner);
    scene_draw_sparks(to, g);
    scene_draw_lander(to, g);
    scene_draw_words(to, g);
    scene_draw_panel(to, g);
}
#endif /* SCENE_H */
