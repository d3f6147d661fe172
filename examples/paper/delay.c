/* delay: agents whose rows come late. CartPole, 10 agents, 3 of them adversaries who answer at
   once; a row of an honest one takes a tick and a geometric delay of mean 0, 2, 5 or 10 ticks more,
   in which the agent hears nothing. The server is rn_hub, the agents are rn_peers, what lies
   between them is the queue below. Ways to go on: wait for all; a quorum of 2f+1 = 7 rows of this
   round, the late left out; the same, and of the late their last rows; a quorum of which 5 are of
   this round and the others may be old; that with method.lookahead. All make 200 rounds: what
   differs is how many ticks they take, and what is learned.

   Chosen on seed 1, mean delay 5: how old rows may be (3, 6, 10 rounds), how many must be fresh (4,
   5, 6, 7), patience (1, 2, 3 ticks), lookahead's eta (0.3, 0.5). Recipe: tasks.h. */
#define _POSIX_C_SOURCE 200809L
#define RESNHARPG_IMPLEMENTATION
#include "tasks.h"

enum { AGENTS = 10, F = 3, HONEST = AGENTS - F, LINES = 5, DELAYS = 4, ATTACKS = 3, MAX_SEEDS = 3 };
enum { ROUNDS = 200, EVERY = 10, POINTS = ROUNDS / EVERY + 1, STALE = 6, BEAT = 3, FLOOD = 100 };
enum { FIRST_SEED = 601, CELLS = DELAYS * ATTACKS * LINES, GOOD = 475 };
enum { FOR_ALL, QUORUM, LAST_ROWS, FRESH, AHEAD };

typedef struct way {
    const char *name;
    uint64_t patience; /* ticks; 0: waits for all */
    size_t stale;      /* rounds that a row may be old */
    size_t fresh;      /* rows of the quorum that must not be; 0: all */
    int lookahead;
} way;

static const way ways[LINES] = {{"wait for all", 0, 0, 0, 0},
                                {"7 fresh rows", 1, 0, 0, 0},
                                {"7 fresh, last rows", 1, STALE, 0, 0},
                                {"5 fresh, last rows", BEAT, STALE, F + 2, 0},
                                {"the same with lookahead", BEAT, STALE, F + 2, 1}};

static const double ahead_eta = 0.5, ahead_gamma = 0.08;
static const double delays[DELAYS] = {0, 2, 5, 10};
static const learner mda = {"MDA", AGG_MDA, 0, 0};

/* A row each: the vectors are agg_attack()'s, of what the honest sent last. Flooding: sign
   flipping, a hundred times over. */
typedef struct harm {
    const char *name;
    agg_attack_kind kind;
    int copies;
} harm;

static const harm harms[ATTACKS] = {{"sign flipping", AGG_ATTACK_SIGN_FLIP, 1},
                                    {"inner product", AGG_ATTACK_IPM, 1},
                                    {"flooding", AGG_ATTACK_SIGN_FLIP, FLOOD}};

typedef struct study {
    attack attacks[ATTACKS];
    char label[DELAYS * LINES][64];
    trial trials[CELLS * MAX_SEEDS]; /* [delay][attack][line][seed] */
    size_t count, seeds, first;
    int quick;
    double seconds;
} study;

/* ---- the world of one run */
struct world;

typedef struct sender {
    rn_peer *peer;
    struct world *world;
    int away;                  /* its row is under way: it hears nothing */
    uint64_t due;              /* when the row is there */
    unsigned char *plan, *row; /* the newest plan that it has not heard; the row under way */
    size_t plan_size, row_size;
} sender;

typedef struct world {
    const trial *t;
    const way *way;
    const harm *harm;
    double mean; /* of the delays */
    size_t dim, most;
    rn_hub *hub;
    sender sender[AGENTS];
    cartpole pole[AGENTS + 1];
    rn_random random;
    agg_rng rng;
    uint64_t now;
} world;

/* what an adversary makes of its row: it knows what the honest made last */
static void harm_row(void *self, size_t round, rn_real *row) {
    const world *w = ((const sender *)self)->world;
    const rn_real *honest[HONEST];
    agg_attack_desc d;
    size_t n = 0;
    (void)round;
    for (int i = 0; i < HONEST; i++) {
        const rn_real *theirs = rn_agent_direction(rn_peer_agent(w->sender[i].peer));
        if (theirs) honest[n++] = theirs;
    }
    memset(&d, 0, sizeof d);
    d.kind = w->harm->kind;
    d.n = AGENTS;
    d.f = F;
    if (n) (void)agg_attack(&d, honest, n, w->dim, row, row);
}

/* ticks beyond the first */
static uint64_t draw_delay(world *w) {
    const double p = 1 / (1 + w->mean), u = 1 - rn_draw_uniform(&w->rng);
    return w->mean > 0 ? (uint64_t)(log(u) / log(1 - p)) : 0;
}

static void *take(size_t size) {
    void *p = calloc(1, size + 1);
    if (!p) exit(1);
    return p;
}

static void refuse(rn_status s) {
    if (s == RN_OK) return;
    fprintf(stderr, "delay: %s\n", rn_status_text(s));
    exit(1);
}

static void open_world(world *w, rn_net *net) {
    const rn_env first = cartpole_env(&w->pole[0]);
    const rn_trainer_desc whole = trial_desc(w->t, net, &first);
    rn_hub_desc h = rn_make_hub_desc(&whole);
    h.patience = w->way->patience;
    h.fresh = w->way->fresh;
    h.stale = w->way->stale;
    w->dim = whole.policy.dim;
    w->most = rn_message_size(w->dim);
    refuse(rn_hub_init(&w->hub, &h, take(rn_hub_size(&h)), rn_hub_size(&h)));
    for (size_t i = 0; i < AGENTS; i++) {
        sender *s = &w->sender[i];
        rn_peer_desc d = rn_make_peer_desc(&whole, i, cartpole_env(&w->pole[i]));
        s->world = w;
        d.alter = i >= HONEST ? harm_row : NULL;
        d.alter_self = s;
        refuse(rn_peer_init(&s->peer, &d, take(rn_peer_size(&d)), rn_peer_size(&d)));
        s->plan = (unsigned char *)take(w->most);
        s->row = (unsigned char *)take(w->most);
    }
}

/* what the hub has to say waits at the agent's door; the newest counts */
static void post_plans(world *w) {
    rn_letter m;
    while (rn_hub_next(w->hub, &m)) {
        sender *s = &w->sender[m.to];
        if (m.size <= rn_message_size(0)) continue; /* a refusal: of a late or a second row */
        memcpy(s->plan, m.bytes, m.size);
        s->plan_size = m.size;
    }
}

static void join_all(world *w) {
    rn_letter m;
    for (size_t i = 0; i < AGENTS; i++)
        while (rn_peer_next(w->sender[i].peer, &m))
            (void)rn_hub_receive(w->hub, i, m.bytes, m.size);
    post_plans(w);
}

/* rows that are there by now */
static void deliver(world *w) {
    for (size_t i = 0; i < HONEST; i++) {
        sender *s = &w->sender[i];
        if (!s->away || w->now < s->due) continue;
        (void)rn_hub_receive(w->hub, i, s->row, s->row_size);
        s->away = 0;
    }
}

/* Who is here and has a plan makes its row; an honest one's goes on its way, an adversary's is
   there at once. */
static void work(world *w) {
    rn_letter m;
    for (size_t i = 0; i < AGENTS; i++) {
        sender *s = &w->sender[i];
        if (s->away || !s->plan_size) continue;
        (void)rn_peer_receive(s->peer, s->plan, s->plan_size);
        s->plan_size = 0;
        while (rn_peer_tick(s->peer, w->now, (size_t)-1, NULL) == RN_MORE) {}
        if (!rn_peer_next(s->peer, &m)) continue;
        for (int k = 0; i >= HONEST && k < w->harm->copies; k++)
            (void)rn_hub_receive(w->hub, i, m.bytes, m.size);
        if (i >= HONEST) continue;
        memcpy(s->row, m.bytes, m.size);
        s->row_size = m.size;
        s->due = w->now + 1 + draw_delay(w);
        s->away = 1;
    }
}

static size_t round_of(const world *w) { return rn_server_current_round(rn_hub_server(w->hub)); }

/* to the end of so many rounds; bounded, as ticks are */
static void play(world *w, size_t rounds) {
    uint64_t left = 1000 * (uint64_t)ROUNDS;
    while (round_of(w) <= rounds && left--) {
        w->now++;
        deliver(w);
        (void)rn_hub_tick(w->hub, w->now, NULL);
        post_plans(w);
        work(w);
    }
}

/* score: the return; `steps` holds the ticks so far instead */
static void run(trial *t) {
    world *w = (world *)take(sizeof *w);
    rn_net net;
    const size_t cell = (size_t)atoi(t->label);
    w->t = t;
    w->way = &ways[cell % LINES];
    w->mean = delays[cell / LINES];
    w->harm = &harms[0];
    for (int a = 0; a < ATTACKS; a++)
        if (strcmp(harms[a].name, t->attack->name) == 0) w->harm = &harms[a];
    w->random = rn_make_random(9000 + t->seed, 0);
    w->rng = rn_random_rng(&w->random);
    open_world(w, &net);
    join_all(w);
    work(w);
    const rn_env env = cartpole_env(&w->pole[AGENTS]);
    const rn_policy policy = rn_make_net_policy(&net, &t->recipe.net);
    for (size_t p = 0; p < t->points; p++) {
        play(w, p * EVERY);
        t->score[p] = trial_evaluate(t, &policy, &env, rn_server_theta(rn_hub_server(w->hub)), p);
        t->steps[p] = (double)w->now;
    }
    /* what take() gave is a few MB and stays: the program ends soon */
    for (size_t i = 0; i < AGENTS; i++) {
        free(w->sender[i].plan);
        free(w->sender[i].row);
    }
    free(w);
}

static void plan(study *st) {
    for (int a = 0; a < ATTACKS; a++)
        st->attacks[a] = attack_of_kind(RN_ATTACK_NONE, harms[a].name); /* the peers do it */
    for (int d = 0; d < DELAYS; d++)
        for (int a = 0; a < ATTACKS; a++)
            for (int l = 0; l < LINES; l++)
                for (size_t s = 0; s < st->seeds; s++) {
                    trial *t = &st->trials[st->count++];
                    char *label = st->label[d * LINES + l];
                    snprintf(label, sizeof st->label[0], "%d mean %g %s", d * LINES + l, delays[d],
                             ways[l].name);
                    *t = trial_make(&tasks[0][0], &mda, &st->attacks[a], st->first + s);
                    t->run = run;
                    t->label = label;
                    t->trajectories = st->quick ? ROUNDS : 2 * ROUNDS;
                    t->every = 2 * EVERY;
                    if (!ways[l].lookahead) continue;
                    t->recipe.method.lookahead = t->recipe.method.no_hessian = 1;
                    t->recipe.method.reuse = 0;
                    t->recipe.eta = ahead_eta;
                    t->recipe.gamma.value = ahead_gamma;
                }
}

/* ---- what they say */
static const trial *runs_of(const study *st, int d, int a, int l) {
    return &st->trials[(size_t)((d * ATTACKS + a) * LINES + l) * st->seeds];
}

typedef struct cell {
    double end;   /* return: mean over seeds of the last three evaluations */
    double least; /* of the seeds */
    double ticks; /* for all rounds */
    double since; /* ticks from which on 475 is kept, mean over seeds; -1: not by all */
} cell;

static cell cell_of(const study *st, int d, int a, int l) {
    cell c = {0, 1e9, 0, 0};
    const double seeds = (double)st->seeds;
    for (size_t s = 0; s < st->seeds; s++) {
        const trial *t = runs_of(st, d, a, l) + s;
        const size_t n = t->points;
        const double end = (t->score[n - 1] + t->score[n - 2] + t->score[n - 3]) / 3;
        size_t p = n;
        while (p > 0 && t->score[p - 1] >= GOOD) p--;
        c.end += end / seeds;
        c.least = fmin(c.least, end);
        c.ticks += t->steps[n - 1] / seeds;
        c.since = p == n || c.since < 0 ? -1 : c.since + t->steps[p] / seeds;
    }
    return c;
}

static void claim_goal(paper_claims *c, const study *st, int l, int a) {
    const int five = 2;
    const cell all = cell_of(st, five, a, FOR_ALL), some = cell_of(st, five, a, l);
    char claim[128];
    snprintf(claim, sizeof claim, "%s, mean delay 5, %s: 475 in a third of the ticks", ways[l].name,
             harms[a].name);
    paper_claim(
        c, st->quick ? -1 : some.least >= GOOD && 3 * some.ticks <= all.ticks, claim,
        "%.0f (least %.0f), %.0f ticks; waiting for all %.0f (least %.0f), %.0f ticks: %.2f "
        "of them",
        some.end, some.least, some.ticks, all.end, all.least, all.ticks, some.ticks / all.ticks);
}

/* the same of the time until 475 is kept, which also counts that old rows teach less */
static void claim_since(paper_claims *c, const study *st, int l, int a) {
    const int five = 2;
    const cell all = cell_of(st, five, a, FOR_ALL), some = cell_of(st, five, a, l);
    char claim[128];
    snprintf(claim, sizeof claim, "%s, mean delay 5, %s: 475 is kept from a third of the ticks on",
             ways[l].name, harms[a].name);
    paper_claim(c, st->quick ? -1 : some.since >= 0 && 3 * some.since <= all.since, claim,
                "from tick %.0f on; waiting for all from %.0f on", some.since, all.since);
}

static void print_table(paper_claims *c, const study *st, int a) {
    paper_note(c,
               "%s: return at the end (the least of the seeds); ticks that all rounds took; "
               "ticks from which on 475 was kept\n",
               harms[a].name);
    paper_row_name(c, 26, "");
    for (int d = 0; d < DELAYS; d++) paper_cell(c, 26, "mean delay %g", delays[d]);
    paper_row_end(c, 1 + DELAYS);
    for (int l = 0; l < LINES; l++) {
        paper_row_name(c, 26, ways[l].name);
        for (int d = 0; d < DELAYS; d++) {
            const cell x = cell_of(st, d, a, l);
            if (x.since < 0)
                paper_cell(c, 26, "%.0f (%.0f); %.0f; never", x.end, x.least, x.ticks);
            else
                paper_cell(c, 26, "%.0f (%.0f); %.0f; %.0f", x.end, x.least, x.ticks, x.since);
        }
        paper_row_end(c, 0);
    }
}

static int write_claims(const char *path, const study *st) {
    paper_claims c;
    if (paper_claims_open(&c, path, "CartPole with late agents") != 0) return -1;
    paper_note(&c,
               "10 agents, 3 of them Byzantine, who answer at once; honest rows take 1 tick and a "
               "geometric delay; %d seeds. Last rows: up to %d rounds old.",
               (int)st->seeds, STALE);
    for (int l = QUORUM; l <= AHEAD; l++)
        for (int a = 0; a < ATTACKS; a++) claim_goal(&c, st, l, a);
    for (int a = 0; a < ATTACKS; a++) claim_since(&c, st, FRESH, a);
    for (int a = 0; a < ATTACKS; a++) print_table(&c, st, a);
    paper_note(&c, "%s, %.0f s.", st->quick ? "Quick version" : "Full version", st->seconds);
    return paper_claims_close(&c);
}

static int write_csv(const char *path, const study *st) {
    FILE *out = fopen(path, "w");
    if (!out) return -1;
    fprintf(out, "mean delay,attack,way,seed,round,ticks,return\n");
    for (size_t i = 0; i < st->count; i++) {
        const trial *t = &st->trials[i];
        const int k = atoi(t->label);
        for (size_t p = 0; p < t->points; p++)
            fprintf(out, "%g,%s,%s,%d,%d,%g,%.6g\n", delays[k / LINES], t->attack->name,
                    ways[k % LINES].name, (int)t->seed, (int)(p * EVERY), t->steps[p], t->score[p]);
    }
    const int bad = ferror(out);
    return fclose(out) != 0 || bad ? -1 : 0;
}

/* ---- the picture: a row an attack, a column a delay; return against ticks, mean over seeds */
static void draw_panel(plot *p, const study *st, plot_box page, int a, int d) {
    double x[LINES][POINTS], y[LINES][POINTS], most = 1;
    plot_curve curve[LINES];
    char title[64];
    for (int l = 0; l < LINES; l++) {
        const trial *runs = runs_of(st, d, a, l);
        const size_t n = runs->points;
        for (size_t k = 0; k < n; k++) {
            x[l][k] = y[l][k] = 0;
            for (size_t s = 0; s < st->seeds; s++) {
                x[l][k] += runs[s].steps[k] / (double)st->seeds;
                y[l][k] += runs[s].score[k] / (double)st->seeds;
            }
        }
        most = fmax(most, x[l][n - 1]);
        const plot_curve one = {ways[l].name, n, x[l], y[l], NULL, NULL, l, 0};
        curve[l] = one;
    }
    snprintf(title, sizeof title, "%s, delay %g", harms[a].name, delays[d]);
    const plot_chart chart = {title,
                              a == ATTACKS - 1 ? "ticks" : NULL,
                              d ? NULL : "return",
                              {0, most, 0},
                              {0, 525, 0},
                              curve,
                              LINES};
    const plot_box box = plot_cell(page, ATTACKS, DELAYS, (size_t)a, (size_t)d);
    plot_curves(p, box, &chart);
    plot_tick_y(p, box, &chart, 500);
    if (a == 0 && d == 0) plot_legend(p, 66, page.y + page.h + 14, curve, LINES);
}

static int draw(const char *path, const study *st) {
    const plot_box page = plot_make_box(14, 70, 1072, 600);
    char note[200];
    plot p;
    if (paper_figure(&p, path, 1100, 706, "CartPole with late agents: what is the wait worth?"))
        return -1;
    snprintf(note, sizeof note,
             "Return against time, mean over seeds (%d); delays are means. Three of ten agents are "
             "Byzantine and answer at once; every line has made %d rounds where it ends",
             (int)st->seeds, (int)(runs_of(st, 0, 0, 0)->points - 1) * EVERY);
    plot_text(&p, 20, 54, PLOT_LEFT, "note", note);
    for (int a = 0; a < ATTACKS; a++)
        for (int d = 0; d < DELAYS; d++) draw_panel(&p, st, page, a, d);
    return plot_close(&p);
}

int main(int argc, char **argv) {
    static study st;
    static const char *const ending[3] = {"md", "csv", "svg"};
    char name[3][40], settings[200];
    st.quick = paper_quick(argc, argv,
                           "usage: delay [--quick]\n"
                           "CartPole with late agents, four ways to go on, three attacks: writes "
                           "build/delay.svg, .csv and .md.\n"
                           "--quick: one seed, half the rounds, to build/delay_quick.*\n");
    st.seeds = st.quick ? 1 : MAX_SEEDS;
    st.first = getenv("DELAY_SEED") ? (size_t)atol(getenv("DELAY_SEED")) : FIRST_SEED;
    plan(&st);
    recipe_text(settings, sizeof settings);
    for (int i = 0; i < 3; i++)
        snprintf(name[i], sizeof name[i], "build/delay%s.%s", st.quick ? "_quick" : "", ending[i]);
    st.seconds = trials_run(st.trials, st.count,
                            st.quick ? "build/delay_quick.part" : "build/delay.part", settings);
    if (write_claims(name[0], &st) != 0 || write_csv(name[1], &st) != 0 || draw(name[2], &st) != 0)
        return fprintf(stderr, "cannot write build/delay*\n"), 1;
    printf("\nwrote %s, %s, %s\n", name[2], name[1], name[0]);
    trials_free(st.trials, st.count);
    return 0;
}
