/* draw.h - what the game draws with: soft lines, filled shapes and small letters, on an
   SDL_Renderer of any kind. Pixels, y is down. */
#ifndef DRAW_H
#define DRAW_H
#include <SDL2/SDL.h>
#include <math.h>
#include <string.h>

/* clang-format off */
static const char draw_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:-+/%!";
static const unsigned char draw_glyphs[][7] = { /* rows of 5 bits, from the top */
    {14, 17, 17, 31, 17, 17, 17}, {30, 17, 17, 30, 17, 17, 30}, {15, 16, 16, 16, 16, 16, 15},
    {30, 17, 17, 17, 17, 17, 30}, {31, 16, 16, 30, 16, 16, 31}, {31, 16, 16, 30, 16, 16, 16},
    {15, 16, 16, 19, 17, 17, 15}, {17, 17, 17, 31, 17, 17, 17}, {14, 4, 4, 4, 4, 4, 14},
    {1, 1, 1, 1, 1, 17, 14}, {17, 18, 20, 24, 20, 18, 17}, {16, 16, 16, 16, 16, 16, 31},
    {17, 27, 21, 21, 17, 17, 17}, {17, 25, 25, 21, 19, 19, 17}, {14, 17, 17, 17, 17, 17, 14},
    {30, 17, 17, 30, 16, 16, 16}, {14, 17, 17, 17, 21, 18, 13}, {30, 17, 17, 30, 20, 18, 17},
    {15, 16, 16, 14, 1, 1, 30}, {31, 4, 4, 4, 4, 4, 4}, {17, 17, 17, 17, 17, 17, 14},
    {17, 17, 17, 17, 10, 10, 4}, {17, 17, 17, 21, 21, 27, 17}, {17, 10, 10, 4, 10, 10, 17},
    {17, 17, 10, 4, 4, 4, 4}, {31, 1, 2, 4, 8, 16, 31}, {14, 17, 19, 21, 25, 17, 14},
    {4, 12, 4, 4, 4, 4, 14}, {14, 17, 1, 6, 8, 16, 31}, {14, 17, 1, 6, 1, 17, 14},
    {2, 6, 10, 18, 31, 2, 2}, {31, 16, 30, 1, 1, 17, 14}, {14, 16, 16, 30, 17, 17, 14},
    {31, 1, 2, 2, 4, 4, 4}, {14, 17, 17, 14, 17, 17, 14}, {14, 17, 17, 15, 1, 1, 14},
    {0, 0, 0, 0, 0, 12, 12}, {0, 0, 0, 0, 12, 4, 8}, {0, 12, 12, 0, 12, 12, 0},
    {0, 0, 0, 14, 0, 0, 0}, {0, 4, 4, 31, 4, 4, 0}, {1, 1, 2, 4, 8, 16, 16},
    {25, 25, 2, 4, 8, 19, 19}, {4, 4, 4, 4, 4, 0, 4}};
/* clang-format on */

typedef struct draw_point {
    double x, y;
} draw_point;

static SDL_Color draw_colour(unsigned rgb, double alpha) {
    SDL_Color c;
    c.r = (Uint8)(rgb >> 16);
    c.g = (Uint8)(rgb >> 8 & 255);
    c.b = (Uint8)(rgb & 255);
    c.a = (Uint8)(255 * (alpha < 0 ? 0 : alpha > 1 ? 1 : alpha));
    return c;
}

static SDL_Vertex draw_vertex(double x, double y, SDL_Color c) {
    SDL_Vertex v;
    v.position.x = (float)x;
    v.position.y = (float)y;
    v.color = c;
    v.tex_coord.x = v.tex_coord.y = 0;
    return v;
}

/* corners in order, each with its colour */
static void draw_quad(SDL_Renderer *to, const SDL_Vertex *v) {
    static const int order[] = {0, 1, 2, 0, 2, 3};
    SDL_RenderGeometry(to, NULL, v, 4, order, 6);
}

static void draw_box(SDL_Renderer *to, double x, double y, double w, double h, SDL_Color c) {
    const SDL_FRect r = {(float)x, (float)y, (float)w, (float)h};
    SDL_SetRenderDrawColor(to, c.r, c.g, c.b, c.a);
    SDL_RenderFillRectF(to, &r);
}

/* from one colour above to another below */
static void draw_fade(SDL_Renderer *to, double x, double y, double w, double h, SDL_Color above,
                      SDL_Color below) {
    const SDL_Vertex v[] = {draw_vertex(x, y, above), draw_vertex(x + w, y, above),
                            draw_vertex(x + w, y + h, below), draw_vertex(x, y + h, below)};
    draw_quad(to, v);
}

/* a convex shape */
static void draw_shape(SDL_Renderer *to, const draw_point *p, int n, SDL_Color c) {
    for (int i = 1; i + 1 < n; i++) {
        const SDL_Vertex v[] = {draw_vertex(p[0].x, p[0].y, c), draw_vertex(p[i].x, p[i].y, c),
                                draw_vertex(p[i + 1].x, p[i + 1].y, c)};
        SDL_RenderGeometry(to, NULL, v, 3, NULL, 0);
    }
}

/* half of a line: full in the middle, nothing at the edge, which so has no steps */
static void draw_half_line(SDL_Renderer *to, draw_point a, draw_point b, double nx, double ny,
                           SDL_Color c) {
    const SDL_Color none = {c.r, c.g, c.b, 0};
    const SDL_Vertex v[] = {draw_vertex(a.x, a.y, c), draw_vertex(b.x, b.y, c),
                            draw_vertex(b.x + nx, b.y + ny, none),
                            draw_vertex(a.x + nx, a.y + ny, none)};
    draw_quad(to, v);
}

static void draw_line(SDL_Renderer *to, draw_point a, draw_point b, double width, SDL_Color c) {
    const double dx = b.x - a.x, dy = b.y - a.y, length = sqrt(dx * dx + dy * dy);
    const double nx = length > 0 ? -dy / length * width : 0,
                 ny = length > 0 ? dx / length * width : 0;
    draw_half_line(to, a, b, nx, ny, c);
    draw_half_line(to, a, b, -nx, -ny, c);
}

static void draw_outline(SDL_Renderer *to, const draw_point *p, int n, double width, SDL_Color c) {
    for (int i = 0; i < n; i++) draw_line(to, p[i], p[(i + 1) % n], width, c);
}

static void draw_letter(SDL_Renderer *to, double x, double y, double size, char letter) {
    const char *at = letter == ' ' ? NULL : strchr(draw_letters, letter);
    for (int row = 0; at && *at && row < 7; row++)
        for (int column = 0; column < 5; column++)
            if (draw_glyphs[at - draw_letters][row] >> (4 - column) & 1) {
                const SDL_FRect r = {(float)(x + column * size), (float)(y + row * size),
                                     (float)size, (float)size};
                SDL_RenderFillRectF(to, &r);
            }
}

/* Letters are 5 by 7 points of that size. Small ones become large: there are no others. */
static void draw_text(SDL_Renderer *to, double x, double y, double size, SDL_Color c,
                      const char *text) {
    SDL_SetRenderDrawColor(to, c.r, c.g, c.b, c.a);
    for (; *text; text++, x += 6 * size)
        draw_letter(to, x, y, size, (char)(*text >= 'a' && *text <= 'z' ? *text - 32 : *text));
}

static double draw_text_width(const char *text, double size) {
    return (6 * (double)strlen(text) - 1) * size;
}
#endif /* DRAW_H */
