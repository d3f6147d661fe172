/* policy_c.h - a learned policy as plain C: one self-contained file with the weights and one
   function, for a program that plays and does not learn.

       FILE *out = fopen("pilot.c", "w");
       if (!policy_c_write_net(out, &net, rn_trainer_theta(trainer), "pilot")) ... // refused

   makes int pilot_act(const float *obs, const uint64_t *bits, float *act). It needs neither header;
   its actions are those of rn_policy_act(), bit for bit, the most likely ones (bits NULL) and
   sampled ones, for which the caller gives random words. With AGG_DOUBLE everything is double.
   policy_c_write_table() does the same for a table.

   Refused, 0, with nothing written: theta that is not finite, a net that is unusable, a name that
   is no identifier. Also 0: out could not be written. The file itself refuses to be compiled with
   flags that the headers refuse: its bits would be others, or NaN an observation.

   In the texts below $ stands for the name and @ for float or double. Arithmetic is that of
   resnharpg.h, sums in the same order; what is done with masks there, for vectors, is done with
   branches here. tests/test_ex_policy_c.c compares them. */
#ifndef POLICY_C_H
#define POLICY_C_H
#ifndef RESNHARPG_H
#include "resnharpg.h"
#endif
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__TINYC__)
#define POLICY_C_FN static __attribute__((unused))
#else
#define POLICY_C_FN static
#endif

/* clang-format off */
#ifdef AGG_DOUBLE
#define POLICY_C_REAL   "double"
#define POLICY_C_NUMBER "%.17g" /* digits that give the same bits when they are read */
#define POLICY_C_SUFFIX ""
#else
#define POLICY_C_REAL   "float"
#define POLICY_C_NUMBER "%.9g"
#define POLICY_C_SUFFIX "f"
#endif

static const char policy_c_begin[] =
    "#include <float.h>\n"
    "#include <stddef.h>\n"
    "#include <stdint.h>\n"
    "#include <string.h>\n\n"
    "/* clang-format off */\n"
    "#if (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || defined(_M_FP_FAST)\n"
    "#error \"-ffast-math and /fp:fast forget NaN, which is refused here\"\n"
    "#elif defined(__FAST_MATH__) || (defined(__GCC_IEC_559) && !__GCC_IEC_559)\n"
    "#error \"-funsafe-math-optimizations and its parts change the bits\"\n"
    "#elif defined(FLT_EVAL_METHOD) && (FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD == 2 || \\\n"
    "    (FLT_EVAL_METHOD == 1 && !defined(__GNUC__))) || \\\n"
    "    (defined(__TINYC__) && defined(__i386__))\n"
    "#error \"excess precision (the i387) changes the bits: use -msse2 -mfpmath=sse\"\n"
    "#elif defined(__clang__)\n"
    "#pragma STDC FP_CONTRACT OFF /* no fma: the same bits on every machine */\n"
    "#elif defined(__GNUC__) && !defined(__TINYC__)\n"
    "#pragma GCC push_options\n"
    "#pragma GCC optimize(\"fp-contract=off\")\n"
    "#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ == 1\n"
    "#pragma GCC optimize(\"excess-precision=fast\")\n"
    "#endif\n"
    "#elif defined(_MSC_VER)\n"
    "#pragma fp_contract(off)\n"
    "#endif\n\n"
    "#ifdef __cplusplus\n"
    "extern \"C\"\n"
    "#endif\n"
    "int $_act(const @ *obs, const uint64_t *bits, @ *act);\n\n";

static const char policy_c_end[] =
    "\n"
    "#if defined(__clang__)\n"
    "#pragma STDC FP_CONTRACT DEFAULT\n"
    "#elif defined(__GNUC__) && !defined(__TINYC__)\n"
    "#pragma GCC pop_options\n"
    "#elif defined(_MSC_VER)\n"
    "#pragma fp_contract(on)\n"
    "#endif\n"
    "/* clang-format on */\n";

#ifdef AGG_DOUBLE
/* expm1: x = k ln2 + r, e^r - 1 and 1.5 2^52 + k; exp and tanh are made of it */
static const char policy_c_exp[] =
    "static double $_expm1(double x, double *k) {\n"
    "    double n, r, q;\n"
    "    *k = x * 1.4426950408889634 + 6755399441055744.0;\n"
    "    n = *k - 6755399441055744.0;\n"
    "    r = (x - n * 0.69314718055989033) - n * 5.4979230187083712e-14;\n"
    "    q = 2.5105206373957011e-08 + r * 2.0914679376583935e-09;\n"
    "    q = 2.4801587325533363e-05 +\n"
    "        r * (2.7557255425746435e-06 + r * (2.7557273661348637e-07 + r * q));\n"
    "    q = 0.0083333333333261411 +\n"
    "        r * (0.0013888888888883752 + r * (0.00019841269874800493 + r * q));\n"
    "    q = 0.5 + r * (0.16666666666666671 + r * (0.041666666666666671 + r * q));\n"
    "    return r + r * r * q;\n"
    "}\n\n"
    "static double $_exp(double x) {\n"
    "    double k, p, r, s;\n"
    "    uint64_t e, half;\n"
    "    if (!(x == x)) return x;\n"
    "    x = x > 746.0 ? 746.0 : x < -746.0 ? -746.0 : x;\n"
    "    p = 1.0 + $_expm1(x, &k);\n"
    "    memcpy(&e, &k, sizeof e);\n"
    "    e = e - 0x4338000000000000u + 2048u;\n"
    "    half = e >> 1;\n"
    "    e = (e - half - 1u) << 52;\n"
    "    half = (half - 1u) << 52;\n"
    "    memcpy(&r, &half, sizeof r);\n"
    "    memcpy(&s, &e, sizeof s);\n"
    "    return p * r * s;\n"
    "}\n\n";

static const char policy_c_tanh[] =
    "static double $_tanh(double x) {\n"
    "    double a = x < 0 ? -x : x, z, k, p, E, T;\n"
    "    uint64_t e;\n"
    "    if (!(a > 0)) return x; /* 0, -0 and NaN are their own */\n"
    "    a = a < 20.0 ? a : 20.0;\n"
    "    z = a * a;\n"
    "    p = $_expm1(2.0 * a, &k);\n"
    "    T = -0.00023463474108872370 + z * (8.5113136855776721e-05 - z * 2.060276537636634e-05);\n"
    "    T = 0.0035921103786890241 +\n"
    "        z * (-0.0014556618301007161 + z * (0.00058893605200740573 + z * T));\n"
    "    T = 0.021869488493666944 + z * (-0.0088632343978143555 + z * T);\n"
    "    T = -0.33333333333333331 +\n"
    "        z * (0.13333333333332714 + z * (-0.053968253967434016 + z * T));\n"
    "    memcpy(&e, &k, sizeof e);\n"
    "    e = (e + 1023u) << 52;\n"
    "    memcpy(&E, &e, sizeof E);\n"
    "    a = a > 0.55 ? 1.0 - 2.0 / ((E + E * p) + 1.0) : a + a * z * T;\n"
    "    return x < 0 ? -a : a;\n"
    "}\n\n"
    "static void $_tanh_all(@ *x, size_t n) {\n"
    "    for (; n > 0; n--, x++) *x = $_tanh(*x);\n"
    "}\n\n";
#else
static const char policy_c_exp[] =
    "static float $_exp(float x) {\n"
    "    float k, n, r, q, p, s;\n"
    "    uint32_t e, half;\n"
    "    if (!(x == x)) return x;\n"
    "    x = x > 104.0f ? 104.0f : x < -104.0f ? -104.0f : x;\n"
    "    k = x * 1.44269504f + 12582912.0f;\n"
    "    n = k - 12582912.0f;\n"
    "    r = (x - n * 0.693145752f) - n * 1.42860682e-06f;\n"
    "    s = r * r;\n"
    "    q = (0.5f + r * 0.166665778f) +\n"
    "        s * ((0.0416665561f + r * 0.00836317334f) + s * 0.00139261759f);\n"
    "    p = 1.0f + (r + s * q);\n"
    "    memcpy(&e, &k, sizeof e);\n"
    "    e = e - 0x4b400000u + 256u;\n"
    "    half = e >> 1;\n"
    "    e = (e - half - 1u) << 23;\n"
    "    half = (half - 1u) << 23;\n"
    "    memcpy(&r, &half, sizeof r);\n"
    "    memcpy(&s, &e, sizeof s);\n"
    "    return p * r * s;\n"
    "}\n\n";

static const char policy_c_tanh[] =
    "static float $_tanh(float x) {\n"
    "    float a = x < 0 ? -x : x, z, z2, t, t2, t4, T, P, Q, R, D;\n"
    "    if (!(a > 0)) return x; /* 0, -0 and NaN are their own */\n"
    "    a = a < 9.1f ? a : 9.1f;\n"
    "    z = a * a;\n"
    "    z2 = z * z;\n"
    "    T = ((-0.333332568f + z * 0.133312896f) + z2 * (-0.0537831187f + z * 0.0210805647f)) +\n"
    "        (z2 * z2) * (-0.00708745699f + z * 0.00141224824f);\n"
    "    t = a - 1.0f;\n"
    "    t2 = t * t;\n"
    "    t4 = t2 * t2;\n"
    "    P = 1.80392075f * t + t2 * (1.0094732f + t * 0.313467354f);\n"
    "    Q = (0.0765235648f + t * 0.0183974802f) + t2 * (0.00239448063f + t * 4.35399452e-05f);\n"
    "    R = (0.000241882139f - t * 3.88921108e-05f) + t2 * 4.63126798e-06f;\n"
    "    D = 2.0480547f + ((P + (t4 * t4) * R) + t4 * Q);\n"
    "    a = a > 0.86f ? 1.0f - 1.0f / (D * D) : a + a * z * T;\n"
    "    return x < 0 ? -a : a;\n"
    "}\n\n"
    "static void $_tanh_all(@ *x, size_t n) {\n"
    "    for (; n > 0; n--, x++) *x = $_tanh(*x);\n"
    "}\n\n";
#endif

static const char policy_c_relu[] =
    "static void $_relu_all(@ *x, size_t n) {\n"
    "    for (; n > 0; n--, x++) *x = *x > 0 ? *x : 0;\n"
    "}\n\n";

/* mean 0, variance 1, of two random words (Box, Muller): log of 2^-53 .. 1, cos of 0 .. 2 pi */
static const char policy_c_normal[] =
    "static double $_log(double x) {\n"
    "    double k, f, s, z, h, L, R;\n"
    "    uint64_t t, m;\n"
    "    memcpy(&t, &x, sizeof t);\n"
    "    t += 0x3ff0000000000000u - 0x3fe6a09e667f3bcdu;\n"
    "    m = (t & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu;\n"
    "    t = (t >> 52) | 0x4330000000000000u;\n"
    "    memcpy(&k, &t, sizeof k);\n"
    "    memcpy(&f, &m, sizeof f);\n"
    "    k -= 4503599627371519.0;\n"
    "    f -= 1.0;\n"
    "    s = f / (2.0 + f);\n"
    "    z = s * s;\n"
    "    h = 0.5 * f * f;\n"
    "    L = 0.18182889125261723 + z * (0.15331721600556042 + z * 0.14616449685043406);\n"
    "    L = 0.28571428625975487 + z * (0.22222211134795081 + z * L);\n"
    "    R = z * (0.66666666666666696 + z * (0.39999999999899505 + z * L));\n"
    "    return k * 0.69314718055989033 +\n"
    "           (f - (h - (s * (h + R) + k * 5.4979230187083712e-14)));\n"
    "}\n\n"
    "static double $_cos(double x) {\n"
    "    const double m = (x * 0.63661977236758138 + 6755399441055744.0) - 6755399441055744.0;\n"
    "    const double t = x - m * 1.5707963267341256, p = m * 6.077100506303966e-11;\n"
    "    const double u = t - p, back = t - u, lost = (t - (u + back)) - (p - back);\n"
    "    const double v = lost - m * 2.0222662487959506e-21, r = u + v, low = (u - r) + v;\n"
    "    const double z = r * r, h = 0.5 * z, w = 1.0 - h;\n"
    "    const int n = (int)m;\n"
    "    double s, c;\n"
    "    s = 2.7557316100683029e-06 + z * (-2.5051131455427946e-08 + z * 1.591810123027412e-10);\n"
    "    s = -0.16666666666666666 +\n"
    "        z * (0.0083333333333309462 + z * (-0.00019841269836754971 + z * s));\n"
    "    c = -2.7557317270560326e-07 + z * (2.0876146024689747e-09 - z * 1.1382614868556325e-11);\n"
    "    c = 0.041666666666666664 +\n"
    "        z * (-0.0013888888888887395 + z * (2.4801587298763433e-05 + z * c));\n"
    "    s = r + (r * z * s + low * w);\n"
    "    c = w + (((1.0 - w) - h) + (z * z * c - r * low));\n"
    "    c = n % 2 ? s : c;\n"
    "    return (n + 1) % 4 > 1 ? -c : c;\n"
    "}\n\n"
    "static double $_normal(const uint64_t *bits) {\n"
    "    const double r = 1.0 - (double)(bits[0] >> 11) * (1.0 / 9007199254740992.0);\n"
    "    const double a = (double)(bits[1] >> 11) * (1.0 / 9007199254740992.0);\n"
    "    return sqrt(-2.0 * $_log(r)) * $_cos(6.283185307179586 * a);\n"
    "}\n\n";

/* sums of even and of odd terms apart, as the header has them; %s is where they begin */
static const char policy_c_layer[] =
    "/* y = x W + b; W: in rows of out numbers, b behind it */\n"
    "static void $_layer(const @ *W, size_t in, size_t out, const @ *x, @ *y) {\n"
    "    size_t i, j;\n"
    "    for (j = 0; j < out; j++) {\n"
    "        @ odd = 0, even = %s;\n"
    "        for (i = 0; i + 1 < in; i += 2) {\n"
    "            even += x[i] * W[i * out + j];\n"
    "            odd += x[i + 1] * W[(i + 1) * out + j];\n"
    "        }\n"
    "        if (i < in) even += x[i] * W[i * out + j];\n"
    "        y[j] = even + odd;\n"
    "    }\n"
    "}\n\n";

static const char policy_c_softmax[] =
    "static @ $_choose(const @ *logit, const uint64_t *bits) {\n"
    "    @ e[$_ACTIONS], sum = 0, r;\n"
    "    size_t j, best = 0, k = 0;\n"
    "    for (j = 1; j < $_ACTIONS; j++)\n"
    "        if (logit[j] > logit[best]) best = j;\n"
    "    if (!bits) return (@)best;\n"
    "    for (j = 0; j < $_ACTIONS; j++) e[j] = sum += $_exp(logit[j] - logit[best]);\n"
    "    r = (@)((double)(bits[0] >> 11) * (1.0 / 9007199254740992.0)) * sum;\n"
    "    for (j = 0; j + 1 < $_ACTIONS; j++) k += !(r < e[j]);\n"
    "    return (@)k;\n"
    "}\n\n";

static const char policy_c_finite[] =
    "static int $_accepts(const @ *obs) {\n"
    "    size_t i;\n"
    "    for (i = 0; i < $_OBS; i++)\n"
    "        if (!(obs[i] - obs[i] == 0)) return 0; /* NaN or infinite */\n"
    "    return 1;\n"
    "}\n\n";

static const char policy_c_table[] =
    "int $_act(const @ *obs, const uint64_t *bits, @ *act) {\n"
    "    if (!(obs[0] >= 0 && obs[0] < (@)$_STATES)) return 0;\n"
    "    if (!((@)(uint32_t)obs[0] == obs[0])) return 0;\n"
    "    *act = $_choose($_theta + (size_t)obs[0] * $_ACTIONS, bits);\n"
    "    return 1;\n"
    "}\n";
/* clang-format on */

typedef struct policy_c_file {
    FILE *out;
    const char *name;
} policy_c_file;

static void policy_c_text(const policy_c_file *to, const char *text) {
    for (; *text; text++)
        if (*text == '$')
            fputs(to->name, to->out);
        else if (*text == '@')
            fputs(POLICY_C_REAL, to->out);
        else
            fputc(*text, to->out);
}

/* the same as a format of printf */
static void policy_c_print(const policy_c_file *to, const char *format, ...) {
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    policy_c_text(to, text);
}

typedef struct policy_c_literal {
    char text[48];
} policy_c_literal;

/* a locale's own decimal point, of whatever bytes, becomes C's */
static void policy_c_point(char *digits) {
    char *at = digits + strcspn(digits, "0123456789"); /* behind the sign */
    at += strspn(at, "0123456789");
    if (*at && *at != 'e') {
        const size_t bytes = strcspn(at, "0123456789");
        memmove(at + 1, at + bytes, strlen(at + bytes) + 1);
        *at = '.';
    }
}

/* of its type: 1 is 1.0f */
static policy_c_literal policy_c_make_literal(rn_real x) {
    char digits[32];
    policy_c_literal to;
    snprintf(digits, sizeof digits, POLICY_C_NUMBER, (double)x);
    policy_c_point(digits);
    snprintf(to.text, sizeof to.text, "%s%s" POLICY_C_SUFFIX, digits,
             strpbrk(digits, ".e") ? "" : ".0");
    return to;
}

static void policy_c_theta(const policy_c_file *to, const rn_real *theta, size_t dim) {
    const size_t line = 24 / sizeof(rn_real); /* short of 100 columns */
    policy_c_print(to, "static const @ $_theta[%zu] = {", dim);
    for (size_t i = 0; i < dim; i++) {
        fputs(i == 0 ? "\n    " : i % line ? ", " : ",\n    ", to->out);
        fputs(policy_c_make_literal(theta[i]).text, to->out);
    }
    fputs("};\n\n", to->out);
}

static int policy_c_is_name(const char *name) {
    static const char all[] = "0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return name && *name && strchr(all + 10, *name) && strspn(name, all) == strlen(name);
}

static int policy_c_is_finite(rn_real x) { return x - x == 0; }

static int policy_c_accepts(const policy_c_file *to, const rn_real *theta, size_t dim) {
    if (!dim || !theta || !to->out || !policy_c_is_name(to->name)) return 0;
    while (dim-- > 0)
        if (!policy_c_is_finite(theta[dim])) return 0;
    return 1;
}

/* the comment at the top, and what does not depend on the policy; words: of random bits */
static void policy_c_head(const policy_c_file *to, size_t obs_dim, const char *obs, size_t words,
                          const char *act) {
    policy_c_print(
        to,
        "/* A policy as plain C99 or C++11, made by examples/policy_c.h of resnharpg.\n"
        "       obs    %zu @: %s\n"
        "       bits   NULL: the most likely action is wanted; or %zu random words, fresh\n"
        "              for each call: a sampled one\n"
        "       act    %s\n"
        "   Returns 1; or 0, with nothing written, if obs is none that it knows. */\n",
        obs_dim, obs, words, act);
    if (words > 1)
        policy_c_text(to, "#include <math.h> /* sqrt, for normal numbers: link -lm */\n");
    policy_c_text(to, policy_c_begin);
}

static int policy_c_finish(const policy_c_file *to) {
    policy_c_text(to, policy_c_end);
    return fflush(to->out) == 0 && !ferror(to->out);
}

/* ---- tables */

POLICY_C_FN int policy_c_write_table(FILE *out, const rn_table *table, const rn_real *theta,
                                     const char *name) {
    const policy_c_file to = {out, name};
    const size_t dim = table->states * table->actions;
    if (!policy_c_accepts(&to, theta, dim)) return 0;
    policy_c_head(&to, 1, "the state, 0 .. $_STATES-1", 1, "one @: 0 .. $_ACTIONS-1");
    policy_c_print(&to, "enum { $_STATES = %zu, $_ACTIONS = %zu };\n\n", table->states,
                   table->actions);
    policy_c_theta(&to, theta, dim);
    policy_c_text(&to, policy_c_exp);
    policy_c_text(&to, policy_c_softmax);
    policy_c_text(&to, policy_c_table);
    return policy_c_finish(&to);
}

/* ---- nets */

static int policy_c_has_tanh(const rn_net *net) {
    return net->desc.tanh_head || (net->desc.activation == RN_TANH && net->layers > 1);
}

/* Beyond 1000 every exp is 0 or infinite, so a bound may as well be there: infinity has no
   literal. */
static rn_real policy_c_bound(double x) {
    const rn_real r = (rn_real)x, most = 1000;
    return r > most ? most : r < -most ? -most : r;
}

static void policy_c_std(const policy_c_file *to, const rn_net_desc *d) {
    const rn_real low = policy_c_bound(d->log_std_min), high = policy_c_bound(d->log_std_max);
    policy_c_text(to, "static @ $_std(@ s) {\n");
    if (!(low == 0 && high == 0))
        policy_c_print(to, "    s = s > %s ? %s : s >= %s ? s : %s;\n",
                       policy_c_make_literal(high).text, policy_c_make_literal(high).text,
                       policy_c_make_literal(low).text, policy_c_make_literal(low).text);
    policy_c_text(to, "    return $_exp(s);\n}\n\n");
}

/* act = mean + std N(0,1), clipped; log-stds: the second half of y, or the last of theta */
static void policy_c_draw(const policy_c_file *to, const rn_net *net) {
    const rn_real clip = (rn_real)net->desc.clip;
    const policy_c_literal c = policy_c_make_literal(clip);
    policy_c_std(to, &net->desc);
    policy_c_text(to, "static void $_draw(const @ *y, const uint64_t *bits, @ *act) {\n");
    if (net->desc.state_std)
        policy_c_text(to, "    const @ *log_std = y + $_ACT;\n");
    else
        policy_c_print(to, "    const @ *log_std = $_theta + %zu;\n", net->dim - net->desc.outputs);
    policy_c_text(to, "    size_t j;\n"
                      "    for (j = 0; j < $_ACT; j++) {\n"
                      "        @ a = y[j];\n"
                      "        if (bits) a = a + $_std(log_std[j]) * (@)$_normal(bits + 2 * j);\n");
    if (clip > 0 && policy_c_is_finite(clip))
        policy_c_print(to, "        a = a > %s ? %s : a < -%s ? -%s : a;\n", c.text, c.text, c.text,
                       c.text);
    policy_c_text(to, "        act[j] = a;\n    }\n}\n\n");
}

/* the functions that $_act calls */
static void policy_c_parts(const policy_c_file *to, const rn_net *net) {
    policy_c_text(to, policy_c_finite);
    policy_c_print(to, policy_c_layer, net->desc.no_bias ? "0" : "W[in * out + j]");
    policy_c_text(to, policy_c_exp);
    if (policy_c_has_tanh(net)) policy_c_text(to, policy_c_tanh);
    if (net->desc.activation == RN_RELU && net->layers > 1) policy_c_text(to, policy_c_relu);
    if (net->desc.gaussian) policy_c_text(to, policy_c_normal);
    if (net->desc.gaussian)
        policy_c_draw(to, net);
    else
        policy_c_text(to, policy_c_softmax);
}

/* layer by layer, each into an array of its own: y0, y1, .. */
static void policy_c_act(const policy_c_file *to, const rn_net *net) {
    static const char *const phi[] = {"$_tanh_all", "$_relu_all", NULL};
    const size_t last = net->layers - 1;
    policy_c_text(to, "int $_act(const @ *obs, const uint64_t *bits, @ *act) {\n");
    for (size_t l = 0; l <= last; l++) policy_c_print(to, "    @ y%zu[%zu];\n", l, net->out[l]);
    policy_c_text(to, "    if (!$_accepts(obs)) return 0;\n");
    for (size_t l = 0; l <= last; l++) {
        policy_c_print(to, "    $_layer($_theta + %zu, %zu, %zu, ", net->offset[l], net->in[l],
                       net->out[l]);
        policy_c_print(to, l ? "y%zu, y%zu);\n" : "obs, y0);\n", l - 1, l);
        if (l < last && phi[net->desc.activation])
            policy_c_print(to, "    %s(y%zu, %zu);\n", phi[net->desc.activation], l, net->out[l]);
    }
    if (net->desc.tanh_head)
        policy_c_print(to, "    $_tanh_all(y%zu, %zu);\n", last, net->desc.outputs);
    policy_c_print(to,
                   net->desc.gaussian ? "    $_draw(y%zu, bits, act);\n"
                                      : "    *act = $_choose(y%zu, bits);\n",
                   last);
    policy_c_text(to, "    return 1;\n}\n");
}

POLICY_C_FN int policy_c_write_net(FILE *out, const rn_net *net, const rn_real *theta,
                                   const char *name) {
    const policy_c_file to = {out, name};
    const rn_net_desc *d = &net->desc;
    if (!policy_c_accepts(&to, theta, net->dim)) return 0;
    policy_c_head(&to, d->obs_dim, "finite", d->gaussian ? 2 * d->outputs : 1,
                  d->gaussian ? "$_ACT @" : "one @: 0 .. $_ACTIONS-1");
    policy_c_print(&to, "enum { $_OBS = %zu, $_%s = %zu };\n\n", d->obs_dim,
                   d->gaussian ? "ACT" : "ACTIONS", d->outputs);
    policy_c_theta(&to, theta, net->dim);
    policy_c_parts(&to, net);
    policy_c_act(&to, net);
    return policy_c_finish(&to);
}
#endif /* POLICY_C_H */
