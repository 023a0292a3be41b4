import type { LaunchPlan, PlannedArgument, PlannedBuffer, PlannedPlace, PlannedStep } from '../../core/launch-plan.ts';

/** A buffer's name in the given repetition of {@link repeatPlan}. */
export const nameInSlot = (buffer: string, slot: number): string => `${buffer}#${slot}`;

/** The launch sequence several times in a row, each time on buffers of its own. */
export function repeatPlan(plan: LaunchPlan, slotCount: number): LaunchPlan {
  const slots = Array.from({ length: slotCount }, (_, slot) => slot);
  return {
    buffers: slots.flatMap((slot) => plan.buffers.map((buffer) => bufferInSlot(buffer, slot))),
    steps: slots.flatMap((slot) => plan.steps.map((step, i) => stepInSlot(i === 0 ? firstStep(step) : step, slot))),
  };
}

function bufferInSlot(buffer: PlannedBuffer, slot: number): PlannedBuffer {
  const named = { ...buffer, name: nameInSlot(buffer.name, slot) };
  const { significant } = buffer;
  if (typeof significant?.first !== 'string') return named;
  return { ...named, significant: { ...significant, first: nameInSlot(significant.first, slot) } };
}

/** The first launch of a sequence never starts before the previous sequence has ended. */
const firstStep = (step: PlannedStep): PlannedStep =>
  step.kind === 'launch' ? { ...step, programmaticDependent: false } : step;

function stepInSlot(step: PlannedStep, slot: number): PlannedStep {
  if (step.kind === 'memset') return { ...step, buffer: nameInSlot(step.buffer, slot) };
  if (step.kind === 'launch')
    return { ...step, arguments: step.arguments.map((argument) => argumentInSlot(argument, slot)) };
  const inSlot = (place: PlannedPlace): PlannedPlace => ({ ...place, buffer: nameInSlot(place.buffer, slot) });
  return { ...step, from: inSlot(step.from), to: inSlot(step.to) };
}

function argumentInSlot(argument: PlannedArgument, slot: number): PlannedArgument {
  switch (argument.kind) {
    case 'buffer':
    case 'tensor-map':
      return { ...argument, buffer: nameInSlot(argument.buffer, slot) };
    case 'pointers':
      return {
        ...argument,
        targets: argument.targets.map((target) => ({ ...target, buffer: nameInSlot(target.buffer, slot) })),
      };
    default:
      return argument;
  }
}
