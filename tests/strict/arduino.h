/* The macros of Arduino's headers, of AVR's registers and those that annoyed before,
   written down here because they are not installed: whatever they stand for, code after them that
   says one of their names does not compile. Included in front of ours by tests/strict/run.sh. */
#include <assert.h>
#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BOARD ) no such thing (
#define min(a, b)               BOARD
#define max(a, b)               BOARD
#define abs(x)                  BOARD
#define round(x)                BOARD
#define radians(x)              BOARD
#define degrees(x)              BOARD
#define sq(x)                   BOARD
#define constrain(x, low, high) BOARD
#define bit(b)                  BOARD
#define bitRead(x, b)           BOARD
#define bitSet(x, b)            BOARD
#define bitClear(x, b)          BOARD
#define bitWrite(x, b, v)       BOARD
#define lowByte(x)              BOARD
#define highByte(x)             BOARD
#define word(x)                 BOARD
#define interrupts()            BOARD
#define noInterrupts()          BOARD
#define cli()                   BOARD
#define sei()                   BOARD
#define F(x)                    BOARD
#define PSTR(x)                 BOARD
#define HIGH                    BOARD
#define LOW                     BOARD
#define INPUT                   BOARD
#define OUTPUT                  BOARD
#define INPUT_PULLUP            BOARD
#define CHANGE                  BOARD
#define FALLING                 BOARD
#define RISING                  BOARD
#define DEFAULT                 BOARD
#define EXTERNAL                BOARD
#define INTERNAL                BOARD
#define SERIAL                  BOARD
#define DISPLAY                 BOARD
#define LSBFIRST                BOARD
#define MSBFIRST                BOARD
#define PI                      BOARD
#define HALF_PI                 BOARD
#define TWO_PI                  BOARD
#define EULER                   BOARD
#define DEG_TO_RAD              BOARD
#define RAD_TO_DEG              BOARD
#define BIN                     BOARD
#define OCT                     BOARD
#define DEC                     BOARD
#define HEX                     BOARD
#define B0                      BOARD
#define B1                      BOARD
#define B00                     BOARD
#define B01                     BOARD
#define B10                     BOARD
#define B11                     BOARD
#define A0                      BOARD
#define A1                      BOARD
#define A2                      BOARD
#define A3                      BOARD
#define D0                      BOARD
#define D1                      BOARD
#define D2                      BOARD
#define PA                      BOARD
#define PB                      BOARD
#define PC                      BOARD
#define PD                      BOARD
#define SP                      BOARD
#define SS                      BOARD
#define SDA                     BOARD
#define SCL                     BOARD
#define SCK                     BOARD
#define MISO                    BOARD
#define MOSI                    BOARD
#define SREG                    BOARD
#define PORTB                   BOARD
#define PINB                    BOARD
#define DDRB                    BOARD
#define TX                      BOARD
#define RX                      BOARD
#define VCC                     BOARD
#define GND                     BOARD
#define near                    BOARD
#define far                     BOARD
#define interface               BOARD
#define small                   BOARD
#define hyper                   BOARD
#define I                       BOARD
#define Status                  BOARD
#define Bool                    BOARD
