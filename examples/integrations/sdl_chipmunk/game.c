/* game: a lander on SDL2 and Chipmunk2D that learns while it is played. Ten copies learn one policy
   together in a few milliseconds of each frame; corrupt some and see who is suspected; let the
   policy fly, or the one that was learned before and ships as pilot.c, or fly yourself.
   Build: make game                            (Debian: libsdl2-dev libchipmunk-dev) */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, isatty */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "../../options.h"
#include "../../policy_c.h"
#include "scene.h"
#include <time.h>
#include <unistd.h>

enum { HEADLESS, SECONDS, CORRUPT, MEAN, SEED, SHIPPED, PICTURE, CHECK, TRAIN, PILOT, OPTIONS };

enum { FRAMES_KEPT = 1 << 14, EXAM = 100, GOAL = 95 };

static const double frame_ms = 1e3 * LANDER_FRAME, learn_ms = 4; /* of these */

/* ---- exams: landings of EXAM flights, the most likely actions */

static int act_as_shipped(learner *l, const rn_real *obs) {
    (void)l;
    return game_shipped_act(obs);
}

static int examine(learner *l, uint64_t seed, int (*choose)(learner *l, const rn_real *obs)) {
    rn_random random = rn_make_random(seed, 2000); /* a stream that nobody trains with */
    const agg_rng rng = rn_random_rng(&random);
    lander world;
    rn_real obs[LANDER_OBS], act;
    double reward;
    int landed = 0;
    lander_open(&world, 7);
    for (int i = 0; i < EXAM; i++) {
        lander_env_reset(&world, &rng, obs);
        for (int step = 0; step < 2 * LANDER_HORIZON && world.outcome == LANDER_FLYING; step++) {
            act = (rn_real)choose(l, obs);
            (void)lander_env_step(&world, &act, &rng, obs, &reward);
        }
        landed += world.outcome == LANDER_LANDED;
    }
    lander_close(&world);
    return landed;
}

/* --mean, and the last of the agents corrupted */
static void begin(learner *l, const option *o) {
    for (size_t i = 0; i < AGENTS; i++) l->corrupted[i] = i >= AGENTS - o[CORRUPT].number;
    l->trusting = (int)o[MEAN].number;
    learner_start(l, 0);
}

/* ---- training without a picture: so many seeds, and what they come to */

static void write_pilot(const learner *l, const char *path) {
    FILE *out = fopen(path, "w");
    if (!out || !policy_c_write_net(out, &l->net, rn_trainer_theta(l->trainer), "pilot") ||
        fclose(out) != 0)
        learner_fail("the pilot cannot be written");
    printf("wrote %s\n", path);
}

static int train(const option *o) {
    static learner l;
    size_t reached = 0;
    for (size_t i = 0; i < o[TRAIN].number; i++) {
        const uint64_t seed = o[SEED].number + i;
        learner_open(&l, seed, 7);
        begin(&l, o);
        for (int rounds = 20; rounds <= ROUNDS; rounds += 20) {
            learner_run(&l, rounds);
            if (isatty(2)) fprintf(stderr, "\rseed %d, round %d of %d ", (int)seed, rounds, ROUNDS);
        }
        if (isatty(2)) fprintf(stderr, "\r");
        const int landed = examine(&l, seed, learner_act);
        reached += landed >= GOAL;
        printf("seed %d, %d rounds, %d of %d corrupted: %d of %d landed\n", (int)seed, ROUNDS,
               (int)o[CORRUPT].number, AGENTS, landed, EXAM);
        fflush(stdout);
        if (i == 0 && o[PILOT].text) write_pilot(&l, o[PILOT].text);
        learner_close(&l);
    }
    printf("%d of %d seeds reach the goal, %d landings of %d\n", (int)reached, (int)o[TRAIN].number,
           GOAL, EXAM);
    return reached == o[TRAIN].number ? 0 : 1;
}

/* ---- playing */

/* milliseconds of each frame, and of learning in it: by the clock, and of this thread's processor,
   which a busy machine does not change */
typedef struct timing {
    double frame[FRAMES_KEPT], frame_cpu[FRAMES_KEPT];
    double learn[FRAMES_KEPT], learn_cpu[FRAMES_KEPT];
    int frames;
} timing;

typedef struct window {
    SDL_Window *window;
    SDL_Renderer *renderer;
    scene scene;
    int hurry; /* 1: do not wait for the next frame */
} window;

static double cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void open_window(window *w, int headless) {
    const unsigned shown = headless ? SDL_WINDOW_HIDDEN : SDL_WINDOW_SHOWN;
    memset(w, 0, sizeof *w);
    if (headless) SDL_setenv("SDL_VIDEODRIVER", "dummy", 1);
    if (SDL_Init(SDL_INIT_VIDEO) != 0) learner_fail(SDL_GetError());
    w->window = SDL_CreateWindow("lander", SDL_WINDOWPOS_CENTERED, SDL_WINDOWPOS_CENTERED,
                                 SCENE_WIDTH, SCENE_HEIGHT, shown | SDL_WINDOW_RESIZABLE);
    w->renderer =
        w->window ? SDL_CreateRenderer(w->window, -1, headless ? SDL_RENDERER_SOFTWARE : 0) : NULL;
    if (!w->renderer) learner_fail(SDL_GetError());
    SDL_RenderSetLogicalSize(w->renderer, SCENE_WIDTH, SCENE_HEIGHT);
    SDL_SetRenderDrawBlendMode(w->renderer, SDL_BLENDMODE_BLEND);
    w->scene.to = w->renderer;
}

static void close_window(window *w) {
    scene_forget(&w->scene);
    SDL_DestroyRenderer(w->renderer);
    SDL_DestroyWindow(w->window);
    SDL_Quit();
}

static void press(game *g, SDL_Keycode key) {
    if (key >= SDLK_1 && key <= SDLK_9) game_toggle_corrupted(g, (int)(key - SDLK_1));
    switch (key) {
    case SDLK_0: game_toggle_corrupted(g, 9); break;
    case SDLK_SPACE: game_next_pilot(g); break;
    case SDLK_m: game_toggle_rule(g); break;
    case SDLK_g: game_gust(g); break;
    case SDLK_r: learner_start(&g->learner, 0); break;
    case SDLK_ESCAPE: g->quit = 1; break;
    default: break;
    }
}

/* the arrows, or a, w and d, as an action of lander_control() */
static int held_keys(void) {
    const Uint8 *k = SDL_GetKeyboardState(NULL);
    const int left = k[SDL_SCANCODE_LEFT] || k[SDL_SCANCODE_A];
    const int right = k[SDL_SCANCODE_RIGHT] || k[SDL_SCANCODE_D];
    const int up = k[SDL_SCANCODE_UP] || k[SDL_SCANCODE_W];
    return 3 * up + (left == right ? 0 : left ? 1 : 2);
}

static void read_events(window *w, game *g) {
    SDL_Event e;
    while (SDL_PollEvent(&e)) {
        if (e.type == SDL_QUIT) g->quit = 1;
        if (e.type == SDL_RENDER_TARGETS_RESET) scene_forget(&w->scene);
        if (e.type == SDL_KEYDOWN && !e.key.repeat) press(g, e.key.keysym.sym);
    }
    g->keys = held_keys();
}

static void run_frame(window *w, game *g, timing *t) {
    const int k = t->frames++ % FRAMES_KEPT;
    const double begin = learner_ms(), begin_cpu = cpu_ms();
    read_events(w, g);
    game_move(g);
    const double learns = learner_ms(), learns_cpu = cpu_ms();
    learner_tick(&g->learner, learn_ms);
    t->learn[k] = learner_ms() - learns;
    t->learn_cpu[k] = cpu_ms() - learns_cpu;
    scene_draw(&w->scene, g);
    SDL_RenderPresent(w->renderer);
    t->frame[k] = learner_ms() - begin;
    t->frame_cpu[k] = cpu_ms() - begin_cpu;
    if (!w->hurry && t->frame[k] < frame_ms) SDL_Delay((Uint32)(frame_ms - t->frame[k]));
}

/* drawn again, of its own size: the window may have another, and what was shown is gone */
static void save_picture(window *w, const game *g, const char *path) {
    SDL_Texture *to = SDL_CreateTexture(w->renderer, SDL_PIXELFORMAT_ARGB8888,
                                        SDL_TEXTUREACCESS_TARGET, SCENE_WIDTH, SCENE_HEIGHT);
    SDL_Surface *s =
        SDL_CreateRGBSurfaceWithFormat(0, SCENE_WIDTH, SCENE_HEIGHT, 24, SDL_PIXELFORMAT_BGR24);
    if (!to || !s || SDL_SetRenderTarget(w->renderer, to) != 0) learner_fail(SDL_GetError());
    scene_draw(&w->scene, g);
    if (SDL_RenderReadPixels(w->renderer, NULL, s->format->format, s->pixels, s->pitch) != 0 ||
        SDL_SaveBMP(s, path) != 0)
        learner_fail(SDL_GetError());
    SDL_SetRenderTarget(w->renderer, NULL);
    SDL_FreeSurface(s);
    SDL_DestroyTexture(to);
}

/* ---- what a run came to */

static int compare_numbers(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* the median, and what 95 of 100 frames stay below, as shares of what is allowed */
static double say_share(const char *what, double *ms, int frames, double allowed) {
    const int n = frames < FRAMES_KEPT ? frames : FRAMES_KEPT;
    qsort(ms, (size_t)n, sizeof *ms, compare_numbers);
    printf("  %-28s %5.2f of %4.1f ms, 95 in 100 frames below %.2f\n", what, ms[n / 2] / allowed,
           allowed, ms[95 * n / 100] / allowed);
    return ms[n / 2] / allowed;
}

/* The processor's time is checked: how long a busy machine stops us is not ours to say. */
static int report(timing *t, game *g, int check) {
    printf("%d frames, %d rounds\n", t->frames, learner_rounds(&g->learner));
    (void)say_share("learning, by the clock", t->learn, t->frames, learn_ms);
    const double learns = say_share("learning, processor", t->learn_cpu, t->frames, learn_ms);
    (void)say_share("all of a frame, by the clock", t->frame, t->frames, frame_ms);
    const double whole = say_share("all of a frame, processor", t->frame_cpu, t->frames, frame_ms);
    const int learned = examine(&g->learner, 1, learner_act);
    const int shipped = examine(&g->learner, 1, act_as_shipped);
    printf("landings of %d flights: %d as learned now, %d by pilot.c\n", EXAM, learned, shipped);
    printf("suspected: %d of %d corrupted ones, %d honest ones\n", game_caught(g),
           game_corrupted(g), game_framed(g));
    if (!check) return 0;
    return learns <= 1.25 && whole <= 1 && learned >= GOAL && shipped >= GOAL ? 0 : 1;
}

/* --check: to the end of the schedule too */
static int is_over(const option *o, const game *g) {
    if (g->quit) return 1;
    if (o[SECONDS].number == 0 || g->frame < 60 * (int)o[SECONDS].number) return 0;
    return !o[CHECK].number || learner_rounds(&g->learner) >= ROUNDS;
}

static int play(const option *o) {
    static game g;
    static window w;
    static timing t;
    int failed;
    game_open(&g, o[SEED].number, o[SHIPPED].number ? PILOT_SHIPPED : PILOT_LEARNING);
    begin(&g.learner, o);
    open_window(&w, (int)o[HEADLESS].number);
    w.hurry = o[HEADLESS].number || o[CHECK].number;
    while (!is_over(o, &g)) run_frame(&w, &g, &t);
    if (o[PICTURE].text) save_picture(&w, &g, o[PICTURE].text);
    failed = o[SECONDS].number > 0 && report(&t, &g, (int)o[CHECK].number);
    close_window(&w);
    game_close(&g);
    return failed;
}

int main(int argc, char **argv) {
    option o[OPTIONS] = {
        {"--headless", "no window", NULL, 0, OPTION_FLAG, 0},
        {"--seconds", "end after so many (0: when you do), and say what was reached", NULL, 0, 0,
         3600},
        {"--corrupt", "so many of the ten are corrupted from the start (0)", NULL, 0, 0, AGENTS},
        {"--mean", "the mean instead of MDA", NULL, 0, OPTION_FLAG, 0},
        {"--seed", "of learning and flights (1)", NULL, 1, 0, 0xffffffff},
        {"--shipped", "pilot.c flies at first", NULL, 0, OPTION_FLAG, 0},
        {"--picture", "the last frame, as a BMP", NULL, 0, 0, 0},
        {"--check", "with --seconds: fail if frames are late or landings few", NULL, 0, OPTION_FLAG,
         0},
        {"--train", "no game: train with so many seeds from --seed on", NULL, 0, 1, 1000},
        {"pilot.c", "with --train: the first of them, as C", NULL, 0, 0, 0}};
    options_read(
        argc, argv, o, OPTIONS,
        "usage: game [options]\n"
        "       game --train 1 [options] [pilot.c]\n"
        "A lander that learns while you play. Arrows: fly yourself; space: the next pilot; "
        "1 .. 9, 0:\ncorrupt one of the ten that learn; m: the mean instead of MDA, or back; "
        "g: a gust; r: learn anew.\n");
    if (o[CHECK].number && !o[SECONDS].number) options_refuse("--check", "for how many --seconds?");
    if (o[PILOT].text && !o[TRAIN].number) options_refuse(o[PILOT].text, "written by --train only");
    if (o[TRAIN].number && (o[SECONDS].number || o[PICTURE].text || o[SHIPPED].number))
        options_refuse("--train", "no game: no --seconds, --picture or --shipped");
    return o[TRAIN].number ? train(o) : play(o);
}
