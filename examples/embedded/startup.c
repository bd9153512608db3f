/* startup.c  what happens before main on a Cortex-M with a floating-point unit: vectors, unit on,
 *            data copied.  Output and
 * the end of the program go through semihosting (newlib's librdimon); on a real board _write goes
 * to a UART instead. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

extern uint32_t data_image[], data_start[], data_end[], bss_start[], bss_end[], stack_bottom[],
    stack_top[];
int main(void);
void initialise_monitor_handles(void);
void Reset_Handler(void);
void Fault_Handler(void);

/* Coprocessor access control register: full access to coprocessors 10 and 11, the floating-point
 * unit. */
#define CPACR (*(volatile uint32_t *)0xE000ED88u)
#define CPACR_FPU (0xFu << 20)
#define PAINT 0xA5A5A5A5u /* words of the stack that nobody wrote */

/* Bytes of stack used so far: the painted words from the bottom are untouched. */
static unsigned stack_used(void) {
    const volatile uint32_t *word = stack_bottom;
    while (word < stack_top && *word == PAINT)
        ++word;
    return (unsigned)((uintptr_t)stack_top - (uintptr_t)word);
}

static void run(void) {
    initialise_monitor_handles();
    int code = main();
    printf("# stack %u bytes\n", stack_used());
    exit(code);
}

void Reset_Handler(void) {
    CPACR |= CPACR_FPU;
    __asm volatile("dsb\n isb" ::: "memory");
    uint32_t *from = data_image;
    for (uint32_t *to = data_start; to < data_end; ++to)
        *to = *from++;
    for (uint32_t *to = bss_start; to < bss_end; ++to)
        *to = 0;
    /* Volatile, so that no memset below the stack pointer of this function takes its place. */
    for (volatile uint32_t *to = stack_bottom; to < (uint32_t *)__builtin_frame_address(0) - 16;
         ++to)
        *to = PAINT;
    run();
}

/* A fault ends the program with an error instead of a hang. */
void Fault_Handler(void) {
    static const char text[] = "error: fault\n";
    register int operation __asm("r0") = 4; /* SYS_WRITE0 */
    register const char *argument __asm("r1") = text;
    __asm volatile("bkpt 0xAB" : "+r"(operation) : "r"(argument) : "memory");
    _Exit(EXIT_FAILURE);
}

typedef void (*handler)(void);
typedef struct vector_table {
    void *stack;
    handler handlers[15];
} vector_table;
extern const vector_table vectors;
__attribute__((section(".vectors"), used)) const vector_table vectors = {
    stack_top,
    {Reset_Handler, Fault_Handler, Fault_Handler, Fault_Handler, Fault_Handler, Fault_Handler, 0, 0,
     0, 0, Fault_Handler, Fault_Handler, 0, Fault_Handler, Fault_Handler},
};
