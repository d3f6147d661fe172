/* Two models that are no task, for the tests of examples/envs/planar.h: a plank to drop, and a
   contraption that has what the tasks have not: slides that turn with their parents, springs on
   them, Euler with them, pairs across branches. */
#ifndef TESTS_PLANAR_MODELS_H
#define TESTS_PLANAR_MODELS_H
#include "examples/envs/planar.h"

/* clang-format off */
static const planar_model plank_model = {
    "plank", 3, 1, 0, 0, 4, 0.002, 0, -9.81, 1,
    { 0.02, 0.9, 0.95, 0.001, 0 }, { 0.02, 0.8, 0.9, 0.01, 0.001 },
    { { "x",    NULL,    -1, PLANAR_SLIDE_X, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
      { "z",    NULL,    0,  PLANAR_SLIDE_Z, 0, 1, 0, 0, 0, 0, 0, 0, 0 },
      { "turn", "plank", 1,  PLANAR_HINGE,   0, 0, 0, 0, 0, 0, 0, 0, 0 } },
    { { { 0, 0, 0, 0,    0,                   0.5 },
        { 0, 0, 0, 0,    0,                   0.5 },
        { 2, 0, 0, 0.25, 0.33333333333333331, 4 } },
      { { 0, 0, 0, 0,    0,                   0.5 },
        { 0, 0, 0, 0,    0,                   0.5 },
        { 2, 0, 0, 0.25, 0.33333333333333331, 4 } } },
    { { "plank_geom", 2, -0.5, 0, 0.5, 0, 0.05, 0.7 } },
    { { 0, 0 } }
};
#define CONTRAPTION(name, euler)                                                                   \
  static const planar_model name = {                                                               \
    #name, 6, 5, 2, euler, 4, 0.004, 0.5, -9.81, 2,                                                \
    { 0.02, 0.85, 0.95, 0.01, 0.005 }, { 0.03, 0.3, 0.95, 0.02, 0.002 },                           \
    { { "swing", "beam",  -1, PLANAR_HINGE,      0.1,  0.8,  0.2, 0,    0,   0,  0.2, 0.05, 10 },  \
      { "along", "cart",  0,  PLANAR_SLIDE_X,    0.1,  -0.1, 0.1, -0.3, 0.5, 30, 0.5, 0.1,  20 },  \
      { "knee",  "shank", 1,  PLANAR_HINGE_BACK, 0.05, -0.1, 0,   -1,   1,   3,  0.1, 0,    5 },   \
      { "lift",  "post",  0,  PLANAR_SLIDE_Z,    -0.2, -0.2, 0,   -0.4, 0.2, 50, 1,   0,    0 },   \
      { "flail", "flail", 3,  PLANAR_HINGE,      0,    -0.1, 0,   0,    0,   0,  0.1, 0.02, 3 },   \
      { "pull",  "tip",   4,  PLANAR_SLIDE_Z,    0,    -0.3, 0,   -0.2, 0.1, 80, 0.3, 0,    0 } }, \
    { CONTRAPTION_MASS, CONTRAPTION_MASS },                                                        \
    { { "beam_geom",  0, -0.6,  0, 0.6, 0,    0.05, 0 },                                           \
      { "cart_geom",  1, -0.05, 0, 0.1, 0,    0.06, 0.8 },                                         \
      { "shank_geom", 2, 0,     0, 0,   -0.5, 0.04, 0.8 },                                         \
      { "flail_geom", 4, 0,     0, 0,   -0.3, 0.03, 1.2 },                                         \
      { "tip_geom",   5, -0.05, 0, 0.1, 0,    0.04, 0.6 } },                                       \
    { { 2, 3 }, { 2, 4 } }                                                                         \
  };

#define CONTRAPTION_MASS                                                       \
    { { 3,   0,     0,     0.4,    0,                   1.6912440741361867 },  \
      { 1,   0.02,  0,     0.01,   0.25906682528461039, 0.77303237755499221 }, \
      { 0.8, 0,     -0.25, 0.02,   0.33116012991113075, 23.106884047965099 },  \
      { 0.5, 0,     0.01,  0.005,  0.39072167406247588, 1.1787608740765587 },  \
      { 0.4, 0,     -0.15, 0.004,  0.5262746912239441,  19.906677684025425 },  \
      { 0.3, 0.025, 0,     0.0005, 1.6244480991127244,  4.4549555139660511 } }
/* clang-format on */
CONTRAPTION(contraption_model, 0)
CONTRAPTION(contraption_euler_model, 1)

ENV_BEGIN
ENV_FN void plank_physics(int v2, double *q, double *v, const double *ctrl, planar_work *k) {
    planar_physics(&plank_model, plank_model.mass[v2 != 0], q, v, ctrl, k);
}

ENV_FN void contraption_physics(int v2, double *q, double *v, const double *ctrl, planar_work *k) {
    planar_physics(&contraption_model, contraption_model.mass[v2 != 0], q, v, ctrl, k);
}

ENV_FN void contraption_euler_physics(int v2, double *q, double *v, const double *ctrl,
                                      planar_work *k) {
    planar_physics(&contraption_euler_model, contraption_euler_model.mass[v2 != 0], q, v, ctrl, k);
}

ENV_END
#endif
