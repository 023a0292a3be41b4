import { type Amount, combineAmounts, constant, evaluateAmount, root, rootsOf } from './amounts.ts';
import type { Cell, Filling, HostEvent, HostFacts, LaunchRecord, Memory, NamedSize, Value } from './host-values.ts';
import type { Item } from './items.ts';
import { parseBody } from './parser.ts';
import { type CudaSource, expandMacro, isHostFunction, resolveAlias, statementsOf, tearsMacro } from './source.ts';
import {
  assignedIn,
  type CType,
  type Declarator,
  type Expression,
  everyPart,
  expressionsIn,
  type Launch,
  type Statement,
  type TemplateArgument,
} from './syntax.ts';
import { sizeOfType } from './types.ts';

/** Nested calls of host functions that are followed. */
const MOST_CALLS = 16;

/** What a device has so many of; expressions of kernel.json know it by this name. */
const DEVICE_MEMBERS = new Map([['multiProcessorCount', 'device.smCount']]);
const DEVICE_VALUES = new Map([['device.smCount', 58]]);

/**
 * Follows host code from `main`, without running it: every statement once, both ways of a condition, calls of host functions
 * that use the GPU. Sizes that it names stay names.
 *
 * @param given values of names that the file does not give.
 */
export function followHostCode(source: CudaSource, given: ReadonlyMap<string, number> = new Map()): HostFacts {
  const walk = new HostWalk(source, given);
  walk.start();
  return { events: walk.events, sizes: walk.sizes };
}

type Scope = Map<string, Cell>;

const unknown = (text: string): Value => ({ kind: 'unknown', text });
const amountOf = (amount: Amount): Value => ({ kind: 'amount', amount });
const amountIn = (value: Value | undefined): Amount | undefined =>
  value?.kind === 'amount' ? value.amount : undefined;
const pointerTo = (memory: Memory): Value => ({ kind: 'pointer', memory, offset: constant(0) });
const plainType = (base: string, pointers = 0): CType => ({
  base,
  pointers,
  isConst: false,
  isReference: false,
  templateArguments: [],
});
const sizeOfNamed = (type: string | undefined): number | undefined =>
  type === undefined ? undefined : sizeOfType(plainType(type));

class HostWalk {
  readonly events: HostEvent[] = [];
  readonly sizes = new Map<string, NamedSize>();
  readonly #source: CudaSource;
  readonly #given: ReadonlyMap<string, number>;
  readonly #usingDevice: ReadonlySet<string>;
  readonly #globals: Scope = new Map();
  #scopes: Scope[] = [this.#globals];
  /** What a template's parameters stand for in the function that is followed. */
  #types: ReadonlyMap<string, TemplateArgument> = new Map();
  #depth = 0;
  #loops = 0;
  #result: Value | undefined;

  constructor(source: CudaSource, given: ReadonlyMap<string, number>) {
    this.#source = source;
    this.#given = given;
    this.#usingDevice = functionsUsingDevice(source);
    for (const [name, value] of DEVICE_VALUES) this.sizes.set(name, { name, value, isFloating: false });
    for (const item of source.items) if (item.kind === 'variable') this.#global(item);
  }

  /** `main`; without one, host functions that launch and that no other calls. */
  start(): void {
    const main = this.#source.functions.get('main')?.[0];
    if (main) return this.#follow(main, [], []);
    for (const item of this.#entries()) this.#follow(item, [], []);
  }

  #entries(): Item[] {
    const hosts = [...this.#source.functions.values()].flat().filter(isHostFunction);
    const users = hosts.filter(({ name }) => this.#usingDevice.has(name));
    const called = new Set(
      users.flatMap((item) => [...callsIn(statementsOf(item))].filter((name) => name !== item.name)),
    );
    return users.filter(({ name }) => !called.has(name));
  }

  #global({ tokens, name }: Item): void {
    if (name === '' || tokens.some(({ text }) => text === '__device__')) return;
    const [declaration] = parseBody(tokens);
    if (declaration?.kind === 'declaration') this.#declare(declaration.declarators);
  }

  #follow(item: Item, values: readonly Value[], templateArguments: readonly TemplateArgument[]): void {
    if (this.#depth >= MOST_CALLS) return;
    const [scopes, types, result] = [this.#scopes, this.#types, this.#result];
    const scope: Scope = new Map();
    this.#types = new Map(
      item.templateParameters.flatMap((name, i) => {
        const bound = templateArguments[i];
        return bound === undefined ? [] : [[name, this.#resolved(bound)] as const];
      }),
    );
    item.function!.parameters.forEach(({ name, type: written }, i) => {
      const type = this.#typeOf(written);
      const value = values[i];
      if (type.isReference && value?.kind === 'reference') {
        scope.set(name, value.cell);
        return;
      }
      const cell: Cell = { name, type, value: undefined };
      scope.set(name, cell);
      this.#assign(cell, value?.kind === 'reference' && type.pointers === 0 ? value.cell.value : value);
    });
    this.#scopes = [this.#globals, scope];
    this.#depth++;
    this.#statements(statementsOf(item));
    this.#depth--;
    [this.#scopes, this.#types] = [scopes, types];
    if (this.#depth === 0) this.#result = result;
  }

  #resolved(argument: TemplateArgument): TemplateArgument {
    const known = this.#types.get(argument.text);
    if (known) return known;
    if (argument.value === undefined) return argument;
    const amount = amountIn(this.#value(argument.value));
    return amount ? { ...argument, value: expressionOf(amount) ?? argument.value } : argument;
  }

  #statements(statements: readonly Statement[]): void {
    for (const statement of statements) this.#statement(statement);
  }

  #inScope(run: () => void): void {
    this.#scopes.push(new Map());
    run();
    this.#scopes.pop();
  }

  #statement(statement: Statement): void {
    switch (statement.kind) {
      case 'declaration':
        return this.#declare(statement.declarators);
      case 'expression':
        this.#value(statement.expression);
        return;
      case 'block':
        return this.#inScope(() => this.#statements(statement.body));
      case 'if':
        return this.#if(statement);
      case 'for':
        return this.#for(statement);
      case 'for-each':
        return this.#loop(() => this.#statement(statement.body));
      case 'while':
        return this.#loop(() => {
          this.#value(statement.test);
          this.#statement(statement.body);
        });
      case 'switch':
        return this.#inScope(() => this.#statement(statement.body));
      case 'return':
        if (statement.value) this.#result ??= this.#value(statement.value);
        return;
      default:
    }
  }

  #if({ test, whenTrue, whenFalse }: Extract<Statement, { kind: 'if' }>): void {
    const amount = amountIn(this.#value(test));
    const known = amount && this.#evaluate(amount);
    if (known !== 0) this.#inScope(() => this.#statement(whenTrue));
    if (whenFalse && (known === undefined || known === 0)) this.#inScope(() => this.#statement(whenFalse));
  }

  #for({ start, step, body }: Extract<Statement, { kind: 'for' }>): void {
    this.#inScope(() => {
      const counters = start?.kind === 'declaration' ? start.declarators : [];
      for (const { name, type } of counters)
        this.#scopes.at(-1)!.set(name, { name, type, value: unknown(`${name}, which a loop counts`) });
      if (start?.kind === 'expression') this.#forget(start.expression);
      if (step) this.#forget(step);
      this.#noteFilling(body);
      this.#loop(() => this.#statement(body));
    });
  }

  /** What a loop changes has no one value. */
  #forget(expression: Expression): void {
    for (const target of assignedIn(expression)) {
      const cell = this.#cell(target);
      if (cell) cell.value = unknown(`${cell.name}, which a loop counts`);
    }
  }

  #loop(run: () => void): void {
    this.#loops++;
    run();
    this.#loops--;
  }

  /** `h_x[i] = rand() % 256;` */
  #noteFilling(body: Statement): void {
    const statements = body.kind === 'block' ? body.body : [body];
    for (const statement of statements) {
      if (statement.kind === 'for') {
        this.#noteFilling(statement.body);
        continue;
      }
      const { expression } = statement.kind === 'expression' ? statement : { expression: undefined };
      if (expression?.kind !== 'assignment' || expression.target.kind !== 'index') continue;
      const target = this.#value(expression.target.object);
      if (target.kind === 'pointer') target.memory.filling ??= this.#fillingOf(expression.value);
    }
  }

  #fillingOf(value: Expression): Filling {
    const parts = [...everyPart(value)];
    const isRandom = parts.some(
      (part) =>
        part.kind === 'call' && part.callee.kind === 'name' && /rand|dist|uniform|normal/i.test(part.callee.name),
    );
    const inner = value.kind === 'cast' ? value.operand : value;
    if (inner.kind === 'binary' && inner.operator === '%' && isRandom) {
      const high = amountIn(this.#value(inner.right));
      if (high) return { kind: 'range', low: 0, high };
    }
    return { kind: isRandom ? 'random' : 'other' };
  }

  #declare(declarators: readonly Declarator[]): void {
    for (const declarator of declarators) {
      const { name } = declarator;
      const type = this.#typeOf(declarator.type);
      const cell: Cell = { name, type, value: undefined };
      this.#scopes.at(-1)!.set(name, cell);
      this.#assign(cell, this.#initial(declarator, type));
    }
  }

  #initial({ name, extents, value, arguments: args }: Declarator, type: CType): Value | undefined {
    if (type.base === 'dim3') return this.#triple(args ?? (value ? [value] : []));
    const isVector = /(?:^|::)(?:(?:host_|device_)?vector|array|unique_ptr)$/.test(type.base);
    if (isVector && (value ?? args?.length === 1)) {
      const copied = this.#value(value ?? args![0]!);
      if (copied.kind === 'pointer') return this.#copied(name, type, copied.memory);
    }
    if (isVector || extents.length > 0) {
      const elementType = isVector ? type.templateArguments[0]?.text : type.base;
      const counts = isVector ? (args ?? []).slice(0, 1) : extents.flatMap((extent) => extent ?? []);
      const memory = { ...this.#hostMemory(name, elementType, counts), space: spaceOf(type) };
      return pointerTo(memory);
    }
    if (value) return this.#value(value);
    return args?.length === 1 ? this.#value(args[0]!) : undefined;
  }

  /** `thrust::device_vector<float> d = h;` */
  #copied(name: string, type: CType, from: Memory): Value {
    const elementType = type.templateArguments[0]?.text ?? from.elementType;
    const memory: Memory = { name, space: spaceOf(type), elementType, bytes: from.bytes };
    this.#noteCopy(memory, from);
    return pointerTo(memory);
  }

  /** A vector that another one is assigned to. */
  #noteCopy(to: Memory, from: Memory): void {
    if (to.space === from.space) return;
    if (to.space === 'device') this.events.push({ kind: 'upload', memory: to, from });
    else this.events.push({ kind: 'download', memory: from, to });
  }

  #hostMemory(name: string, elementType: string | undefined, counts: readonly Expression[]): Memory {
    const values = counts.map((count) => this.#value(count));
    const amounts = values.flatMap((value) => amountIn(value) ?? []);
    const size = sizeOfNamed(elementType);
    const isKnown = size !== undefined && amounts.length > 0 && amounts.length === counts.length;
    const bytes = isKnown ? amounts.reduce((all, one) => combineAmounts('*', all, one), constant(size)) : undefined;
    return { name, space: 'host', elementType, bytes };
  }

  /** Plain numbers become named sizes: what a variable or macro holds is known by its name. */
  #assign(cell: Cell, value: Value | undefined): void {
    if (value === undefined) return;
    const isWhole = cell.type.pointers === 0;
    if (value.kind === 'amount' && isWhole && rootsOf(value.amount).length === 0) {
      cell.value = amountOf(this.#named(cell.name, this.#evaluate(value.amount), isFloatingType(cell.type)));
      return;
    }
    if (value.kind === 'unknown' && cell.value !== undefined) return;
    if (value.kind === 'pointer' && value.memory.elementType === undefined && cell.type.pointers === 1)
      value.memory.elementType = cell.type.base === 'void' ? undefined : cell.type.base;
    if (value.kind === 'pointer' && value.memory.name === '') value.memory.name = cell.name;
    cell.value = value;
  }

  #named(name: string, value: number | undefined, isFloating: boolean): Amount {
    const given = this.#given.get(name);
    const wanted = given ?? value;
    let unique = name;
    for (let i = 2; this.sizes.has(unique) && this.sizes.get(unique)!.value !== wanted; i++) unique = `${name}_${i}`;
    if (!this.sizes.has(unique)) this.sizes.set(unique, { name: unique, value: wanted, isFloating });
    return root(unique, isFloating);
  }

  #evaluate(amount: Amount): number | undefined {
    return evaluateAmount(amount, (name) => this.sizes.get(name)?.value);
  }

  #typeOf(type: CType): CType {
    const bound = this.#types.get(type.base);
    return resolveAlias(
      this.#source,
      bound?.type ? { ...bound.type, pointers: bound.type.pointers + type.pointers } : type,
    );
  }

  #find(name: string): Cell | undefined {
    return this.#scopes.findLast((scope) => scope.has(name))?.get(name);
  }

  /** Where a value can be stored; members and elements by their text. */
  #cell(target: Expression): Cell | undefined {
    if (target.kind === 'name') return this.#find(target.name);
    if (target.kind === 'cast') return this.#cell(target.operand);
    if (target.kind === 'unary' && target.operator === '*') {
      const value = this.#value(target.operand);
      return value.kind === 'reference' ? value.cell : undefined;
    }
    const name = placeName(target);
    if (name === undefined) return undefined;
    const known = this.#find(name);
    if (known) return known;
    const cell: Cell = { name, type: plainType('void', 1), value: undefined };
    (this.#scopes[1] ?? this.#globals).set(name, cell);
    return cell;
  }

  #value(node: Expression): Value {
    switch (node.kind) {
      case 'number':
        return amountOf(constant(node.value, node.type === 'float' || node.type === 'double'));
      case 'text':
        return unknown(node.text);
      case 'name':
        return this.#name(node.name);
      case 'unary':
        return this.#unary(node);
      case 'binary':
        return this.#binary(node);
      case 'assignment':
        return this.#assignment(node);
      case 'conditional':
        return this.#conditional(node);
      case 'call':
        return this.#call(node);
      case 'launch':
        return this.#launch(node);
      case 'index':
        return this.#index(node);
      case 'member':
        return this.#member(node);
      case 'cast':
        return this.#cast(node);
      case 'size-of':
        return this.#sizeOf(node);
      case 'list':
        return node.type?.base === 'dim3' ? this.#triple(node.elements) : unknown('a list');
      case 'new':
        return pointerTo(this.#hostMemory('', this.#typeOf(node.type).base, node.count ? [node.count] : []));
    }
  }

  #name(name: string): Value {
    const cell = this.#find(name);
    if (cell) return this.#valueOf(cell);
    const bound = this.#types.get(name);
    if (bound?.value) return this.#value(bound.value);
    const { expression, parameters } = this.#source.macros.get(name) ?? {};
    if (expression && parameters === undefined) return this.#macro(name, expression);
    if (name === 'nullptr' || name === 'NULL') return { kind: 'null' };
    if (name === 'true' || name === 'false') return amountOf(constant(name === 'true' ? 1 : 0));
    return unknown(name);
  }

  #valueOf(cell: Cell): Value {
    const { type, name, value } = cell;
    if (value !== undefined && value.kind !== 'unknown') return value;
    // Read at run time, such as `atoi(argv[1])`, or a parameter of an entry that nobody calls.
    const isCounted = value?.kind === 'unknown' && value.text.includes('which a loop counts');
    if (isArithmetic(type) && !isCounted) {
      cell.value = amountOf(this.#named(name, undefined, isFloatingType(type)));
      return cell.value;
    }
    if (value === undefined && type.pointers === 1 && this.#depth === 1 && !this.#source.functions.has('main')) {
      const memory: Memory = { name, space: 'device', elementType: type.base, bytes: undefined };
      cell.value = pointerTo(memory);
      return cell.value;
    }
    return value ?? (type.pointers > 0 ? this.#undefinedPointer(cell) : unknown(name));
  }

  /** A host pointer whose allocation was not understood is memory all the same. */
  #undefinedPointer(cell: Cell): Value {
    if (cell.type.pointers !== 1) return unknown(cell.name);
    const memory: Memory = { name: cell.name, space: 'host', elementType: cell.type.base, bytes: undefined };
    return pointerTo(memory);
  }

  #macro(name: string, expression: Expression): Value {
    const value = this.#value(expression);
    if (value.kind !== 'amount' || rootsOf(value.amount).length > 0) return value;
    const number = this.#evaluate(value.amount);
    return amountOf(this.#named(name, number, value.amount.kind === 'constant' && value.amount.isFloating));
  }

  #unary({ operator, operand, isPostfix }: Extract<Expression, { kind: 'unary' }>): Value {
    if (operator === '&') {
      const cell = this.#cell(operand);
      if (cell?.value?.kind === 'pointer' && operand.kind === 'index') return cell.value;
      if (operand.kind === 'index') {
        const value = this.#value(operand.object);
        if (value.kind === 'pointer') return this.#moved(value, this.#value(operand.index));
      }
      return cell ? { kind: 'reference', cell } : unknown('an address');
    }
    const value = this.#value(operand);
    if (operator === '++' || operator === '--') {
      const cell = this.#cell(operand);
      if (cell) cell.value = unknown(`${cell.name}, which changes`);
      return isPostfix ? value : unknown('a counter');
    }
    if (value.kind === 'reference' && operator === '*') return this.#valueOf(value.cell);
    if (value.kind !== 'amount') return unknown(`${operator} of it`);
    if (operator === '-') return amountOf(combineAmounts('-', constant(0), value.amount));
    if (operator === '+') return value;
    return operator === '!' ? amountOf(combineAmounts('==', value.amount, constant(0))) : unknown(operator);
  }

  #binary({ operator, left, right }: Extract<Expression, { kind: 'binary' }>): Value {
    const [a, b] = [this.#value(left), this.#value(right)];
    if (operator === ',') return b;
    if (tearsMacro(this.#source, operator, left, right))
      return unknown(`a macro in ${operator}, which lacks parentheses`);
    if (a.kind === 'pointer' && operator === '+') return this.#moved(a, b);
    if (b.kind === 'pointer' && operator === '+') return this.#moved(b, a);
    if (a.kind !== 'amount' || b.kind !== 'amount')
      return unknown(`${describeValue(a)} ${operator} ${describeValue(b)}`);
    return amountOf(combineAmounts(operator as '+', a.amount, b.amount));
  }

  #moved(pointer: Extract<Value, { kind: 'pointer' }>, by: Value): Value {
    if (by.kind !== 'amount') return unknown(`a place in ${pointer.memory.name}`);
    return { ...pointer, offset: combineAmounts('+', pointer.offset, by.amount) };
  }

  #assignment({ operator, target, value: right }: Extract<Expression, { kind: 'assignment' }>): Value {
    const plain: Expression =
      operator === '=' ? right : { kind: 'binary', operator: operator.slice(0, -1), left: target, right };
    const value = this.#value(plain);
    const cell = this.#cell(target);
    if (!cell) return value;
    if (cell.value?.kind === 'pointer' && value.kind === 'pointer' && /vector$/.test(cell.type.base)) {
      this.#noteCopy(cell.value.memory, value.memory);
      return value;
    }
    if (operator !== '=' && this.#loops > 0) cell.value = unknown(`${cell.name}, which changes`);
    else if (cell.type.base === 'dim3' && value.kind === 'amount')
      cell.value = { kind: 'triple', parts: [value.amount, constant(1), constant(1)] };
    else this.#setMember(target, value) || this.#assign(cell, value);
    return cell.value ?? value;
  }

  /** `grid.y = …` */
  #setMember(target: Expression, value: Value): boolean {
    if (target.kind !== 'member' || value.kind !== 'amount') return false;
    const cell = this.#cell(target.object);
    const axis = ['x', 'y', 'z'].indexOf(target.name);
    if (cell?.type.base !== 'dim3' || axis < 0) return false;
    const parts = cell.value?.kind === 'triple' ? cell.value.parts : ONES;
    cell.value = { kind: 'triple', parts: parts.with(axis, value.amount) as unknown as typeof parts };
    return true;
  }

  #conditional({ test, whenTrue, whenFalse }: Extract<Expression, { kind: 'conditional' }>): Value {
    const condition = this.#value(test);
    const [a, b] = [this.#value(whenTrue), this.#value(whenFalse)];
    // `argc > 1 ? atoi(argv[1]) : 1024`
    if (a.kind === 'unknown' || b.kind === 'unknown') return a.kind === 'unknown' ? b : a;
    if (condition.kind !== 'amount' || /\bargc\b/.test(rootsOf(condition.amount).join(' '))) return b;
    if (a.kind !== 'amount' || b.kind !== 'amount') {
      const known = this.#evaluate(condition.amount);
      return known === 0 ? b : a;
    }
    return amountOf(combineAmounts('?:', condition.amount, a.amount, b.amount));
  }

  #index({ object, index }: Extract<Expression, { kind: 'index' }>): Value {
    const name = placeName({ kind: 'index', object, index });
    const known = name === undefined ? undefined : this.#find(name);
    if (known) return this.#valueOf(known);
    this.#value(index);
    return unknown('an element');
  }

  #member(node: Extract<Expression, { kind: 'member' }>): Value {
    const device = DEVICE_MEMBERS.get(node.name);
    if (device !== undefined) return amountOf(root(device));
    const object = this.#value(node.object);
    const axis = ['x', 'y', 'z'].indexOf(node.name);
    if (object.kind === 'triple' && axis >= 0) return amountOf(object.parts[axis]!);
    if (object.kind === 'pointer' && object.memory.space === 'host') return object;
    const cell = this.#find(placeName(node) ?? '');
    return cell ? this.#valueOf(cell) : unknown(placeName(node) ?? node.name);
  }

  #cast({ type, operand }: Extract<Expression, { kind: 'cast' }>): Value {
    if (type.base === 'dim3') return this.#triple([operand]);
    const value = this.#value(operand);
    if (value.kind !== 'amount' || type.pointers > 0) return value;
    const { amount } = value;
    if (amount.kind === 'operation' && !isFloatingType(type)) return value;
    if (amount.kind === 'constant' && !isFloatingType(type)) return amountOf(constant(Math.trunc(amount.value)));
    return amountOf(isFloatingType(type) && amount.kind !== 'operation' ? { ...amount, isFloating: true } : amount);
  }

  #sizeOf({ type, operand }: Extract<Expression, { kind: 'size-of' }>): Value {
    if (type) {
      const size = sizeOfType(this.#typeOf(type));
      if (size !== undefined) return amountOf(constant(size));
      const cell = type.pointers === 0 ? this.#find(type.base) : undefined;
      return (cell && this.#sizeOfCell(cell)) ?? unknown(`sizeof(${type.base})`);
    }
    const inner = operand!.kind === 'unary' && operand!.operator === '*' ? operand!.operand : undefined;
    const pointer = inner ? this.#value(inner) : undefined;
    const elementType = pointer?.kind === 'pointer' ? pointer.memory.elementType : undefined;
    const size = sizeOfNamed(elementType);
    return size === undefined ? unknown('sizeof') : amountOf(constant(size));
  }

  /** `sizeof(array)`, `sizeof(x)`. */
  #sizeOfCell({ type, value }: Cell): Value | undefined {
    if (value?.kind === 'pointer' && type.pointers === 0 && value.memory.bytes) return amountOf(value.memory.bytes);
    const size = sizeOfType(type);
    return size === undefined ? undefined : amountOf(constant(size));
  }

  #triple(parts: readonly Expression[]): Value {
    const first = parts.length === 1 ? this.#value(parts[0]!) : undefined;
    if (first?.kind === 'triple') return first;
    const values = parts.map((part) => this.#value(part));
    const known = values.flatMap((value) => amountIn(value) ?? []);
    if (known.length < values.length) return values.find(({ kind }) => kind === 'unknown') ?? unknown('dim3');
    return { kind: 'triple', parts: [known[0] ?? constant(1), known[1] ?? constant(1), known[2] ?? constant(1)] };
  }

  #launch(node: Launch): Value {
    const [grid, block, shared] = node.configuration;
    const launch: LaunchRecord = {
      function: node.function,
      templateArguments: node.templateArguments.map((argument) => this.#resolved(argument)),
      grid: this.#triple([grid!]),
      block: block ? this.#triple([block]) : unknown('no block'),
      sharedBytes: shared ? this.#value(shared) : amountOf(constant(0)),
      arguments: node.arguments.map((argument) => this.#value(argument)),
      line: node.line,
      isInLoop: this.#loops > 0,
    };
    this.events.push({ kind: 'launch', launch });
    return unknown('a launch');
  }

  #call(node: Extract<Expression, { kind: 'call' }>): Value {
    const { callee, arguments: args } = node;
    if (callee.kind === 'member') return this.#method(callee, args);
    if (callee.kind !== 'name') return unknown('a call');
    const { name } = callee;
    const local = name.split('::').at(-1)!;
    if (local === 'dim3') return this.#triple(args);
    if (local === 'raw_pointer_cast') return this.#value(args[0]!);
    const api = DEVICE_CALLS.get(local);
    if (api) {
      api(args, this.#api);
      return unknown(name);
    }
    const math = AMOUNT_CALLS.get(local);
    if (math) return this.#math(math, args);
    const bytesOf = ALLOCATIONS.get(local);
    if (bytesOf) return this.#allocated(bytesOf(args));
    const macro = this.#source.macros.get(name);
    if (macro?.expression && macro.parameters) {
      const expanded = expandMacro(macro, args);
      return expanded ? this.#value(expanded) : unknown(`${name}(…), which lacks parentheses`);
    }
    const item = this.#source.functions.get(local)?.find((one) => isHostFunction(one) || one.words.has('__host__'));
    return item ? this.#ownCall(item, callee, args) : this.#foreignCall(name, args);
  }

  /** What is called may hold calls as arguments: `CHECK(cudaMalloc(…))`. */
  #foreignCall(name: string, args: readonly Expression[]): Value {
    if (name === 'std::swap' || name === 'swap') this.#swap(args);
    else for (const argument of args) this.#value(argument);
    return unknown(`${name}(…)`);
  }

  #swap(args: readonly Expression[]): void {
    const [a, b] = args.map((argument) => this.#cell(argument));
    if (a && b) [a.value, b.value] = [b.value, a.value];
  }

  #ownCall(item: Item, callee: Extract<Expression, { kind: 'name' }>, args: readonly Expression[]): Value {
    const { parameters } = item.function!;
    const values = args.map((argument, i) => {
      const cell = parameters[i]?.type.isReference ? this.#cell(argument) : undefined;
      return cell ? ({ kind: 'reference', cell } as const) : this.#value(argument);
    });
    if (!this.#usingDevice.has(item.name)) {
      this.events.push({ kind: 'host-call', function: item.name, arguments: values.map(dereferenced) });
      this.#noteFillingBy(item, values);
      return this.#pureResult(item, values);
    }
    this.#result = undefined;
    this.#follow(item, values, callee.templateArguments);
    const result = this.#result;
    this.#result = undefined;
    return result ?? unknown(`${item.name}(…)`);
  }

  /** `void fill_random(int* x, int n)` */
  #noteFillingBy(item: Item, values: readonly Value[]): void {
    if (!values.some((value) => value.kind === 'pointer' && value.memory.filling === undefined)) return;
    this.#inFunction(item, values, () => {
      for (const statement of statementsOf(item)) if (statement.kind === 'for') this.#noteFilling(statement.body);
    });
  }

  #inFunction<T>(item: Item, values: readonly Value[], run: () => T): T {
    const scope: Scope = new Map(
      item.function!.parameters.map(({ name, type }, i) => [
        name,
        { name, type, value: values[i] && dereferenced(values[i]) },
      ]),
    );
    const scopes = this.#scopes;
    this.#scopes = [this.#globals, scope];
    const result = run();
    this.#scopes = scopes;
    return result;
  }

  /** `int cdiv(int a, int b) { return (a + b - 1) / b; }` */
  #pureResult(item: Item, values: readonly Value[]): Value {
    const statements = statementsOf(item);
    const only = statements.length === 1 ? statements[0] : undefined;
    if (only?.kind !== 'return' || only.value === undefined) return unknown(`${item.name}(…)`);
    const { value } = only;
    return this.#inFunction(item, values, () => this.#value(value));
  }

  #math(operator: Parameters<typeof combineAmounts>[0], args: readonly Expression[]): Value {
    const values = args.map((argument) => this.#value(argument));
    const amounts = values.flatMap((value) => amountIn(value) ?? []);
    return amounts.length < values.length ? unknown(operator) : amountOf(combineAmounts(operator, ...amounts));
  }

  #allocated(bytes: Expression | undefined): Value {
    const amount = amountIn(bytes && this.#value(bytes));
    const memory: Memory = { name: '', space: 'host', elementType: undefined, bytes: amount };
    return pointerTo(memory);
  }

  #method({ object, name }: Extract<Expression, { kind: 'member' }>, args: readonly Expression[]): Value {
    const value = this.#value(object);
    for (const argument of args) this.#value(argument);
    if (value.kind !== 'pointer') return unknown(`${name}()`);
    if (/^(?:data|begin|get|c_str)$/.test(name)) return value;
    const { bytes, elementType } = value.memory;
    const size = sizeOfNamed(elementType);
    if (name !== 'size' || bytes === undefined || size === undefined) return unknown(`${name}()`);
    return amountOf(combineAmounts('//', bytes, constant(size)));
  }

  /** What calls of the CUDA runtime are told with. */
  readonly #api: ApiCalls = {
    emit: (event) => this.events.push(event),
    value: (expression) => this.#value(expression),
    memory: (expression) => {
      const value = this.#value(expression);
      return value.kind === 'pointer' ? value.memory : undefined;
    },
    allocate: (target, bytes, space) => {
      const value = this.#value(target);
      if (value.kind !== 'reference') return;
      const { cell } = value;
      cell.value = pointerTo({
        name: cell.name.replaceAll(/\W+/g, '_').replaceAll(/^_+|_+$/g, ''),
        space,
        elementType: cell.type.base === 'void' ? undefined : cell.type.base,
        bytes: amountIn(bytes && this.#value(bytes)),
      });
    },
  };
}

const ONES: readonly [Amount, Amount, Amount] = [constant(1), constant(1), constant(1)];

interface ApiCalls {
  emit(event: HostEvent): void;
  value(expression: Expression): Value;
  memory(expression: Expression): Memory | undefined;
  allocate(target: Expression, bytes: Expression | undefined, space: 'device' | 'managed'): void;
}

type ApiCall = (args: readonly Expression[], api: ApiCalls) => void;

function copy([to, from, , kind]: readonly Expression[], api: ApiCalls): void {
  const [target, source] = [api.memory(to!), api.memory(from!)];
  const direction = kind?.kind === 'name' ? kind.name : 'cudaMemcpyDefault';
  const isDevice = (memory: Memory | undefined): boolean => memory !== undefined && memory.space !== 'host';
  if (/HostToDevice$/.test(direction) || (isDevice(target) && !isDevice(source))) {
    if (target) api.emit({ kind: 'upload', memory: target, from: source });
  } else if (/DeviceToHost$/.test(direction) || (isDevice(source) && !isDevice(target))) {
    if (source) api.emit({ kind: 'download', memory: source, to: target });
  } else if (target && source && isDevice(target)) api.emit({ kind: 'copy', memory: target, from: source });
}

function fill([target, value]: readonly Expression[], api: ApiCalls): void {
  const memory = api.memory(target!);
  const byte = amountIn(api.value(value!));
  if (memory) api.emit({ kind: 'memset', memory, value: byte });
}

function copyToSymbol([symbol, from]: readonly Expression[], api: ApiCalls): void {
  const named = symbol?.kind === 'unary' ? symbol.operand : symbol;
  if (named?.kind !== 'name') return;
  const [memory, source] = [api.memory(named), api.memory(from!)];
  api.emit({ kind: 'upload-constant', symbol: named.name, memory, from: source });
}

/** Calls of the CUDA runtime that say what a launch works on. */
const DEVICE_CALLS = new Map(
  Object.entries<ApiCall>({
    cudaMalloc: ([target, bytes], api) => api.allocate(target!, bytes, 'device'),
    cudaMallocAsync: ([target, bytes], api) => api.allocate(target!, bytes, 'device'),
    cudaMallocManaged: ([target, bytes], api) => api.allocate(target!, bytes, 'managed'),
    cudaMemcpy: copy,
    cudaMemcpyAsync: copy,
    cudaMemset: fill,
    cudaMemsetAsync: fill,
    cudaMemcpyToSymbol: copyToSymbol,
    cudaMemcpyToSymbolAsync: copyToSymbol,
  }),
);

const AMOUNT_CALLS = new Map(
  Object.entries<Parameters<typeof combineAmounts>[0]>({
    min: 'min',
    max: 'max',
    ceil: 'ceil',
    ceilf: 'ceil',
    floor: 'floor',
    floorf: 'floor',
    sqrt: 'sqrt',
    sqrtf: 'sqrt',
    log2: 'log2',
    log2f: 'log2',
    pow: 'pow',
    powf: 'pow',
    abs: 'abs',
  }),
);

/** Which argument holds the bytes. */
const ALLOCATIONS = new Map(
  Object.entries<(args: readonly Expression[]) => Expression | undefined>({
    malloc: ([bytes]) => bytes,
    calloc: ([count, size]) => count && size && { kind: 'binary', operator: '*', left: count, right: size },
    aligned_alloc: ([, bytes]) => bytes,
  }),
);

const USES_DEVICE = /^cuda(?:Malloc|Memcpy|Memset)/;

/** Names of all functions that are called, at any depth of the statements. */
function* callsIn(statements: readonly Statement[]): Generator<string> {
  for (const statement of statements) {
    for (const expression of expressionsIn(statement)) {
      for (const part of everyPart(expression)) {
        if (part.kind === 'launch') yield '<<<>>>';
        if (part.kind === 'call' && part.callee.kind === 'name') yield part.callee.name.split('::').at(-1)!;
      }
    }
  }
}

/** Host functions that launch or move device memory, themselves or by what they call. */
function functionsUsingDevice({ functions }: CudaSource): Set<string> {
  const calls = new Map<string, Set<string>>();
  for (const [name, items] of functions)
    calls.set(name, new Set(items.filter(isHostFunction).flatMap((item) => [...callsIn(statementsOf(item))])));
  const using = new Set<string>();
  for (let changed = true; changed; ) {
    changed = false;
    for (const [name, called] of calls) {
      if (using.has(name)) continue;
      if (![...called].some((one) => one === '<<<>>>' || USES_DEVICE.test(one) || using.has(one))) continue;
      using.add(name);
      changed = true;
    }
  }
  return using;
}

/** The text of a place such as `data.x` or `buffers[0]`. */
function placeName(node: Expression): string | undefined {
  if (node.kind === 'name') return node.name;
  if (node.kind === 'number') return node.text;
  if (node.kind === 'member') {
    const object = placeName(node.object);
    return object === undefined ? undefined : `${object}.${node.name}`;
  }
  if (node.kind !== 'index') return undefined;
  const [object, index] = [placeName(node.object), node.index.kind === 'number' ? node.index.text : undefined];
  return object === undefined || index === undefined ? undefined : `${object}[${index}]`;
}

const dereferenced = (value: Value): Value =>
  value.kind === 'reference' ? (value.cell.value ?? unknown(value.cell.name)) : value;

const describeValue = (value: Value): string => (value.kind === 'unknown' ? value.text : value.kind);

/** So that a template argument that a function was called with is a plain number in what it launches. */
function expressionOf(amount: Amount): Expression | undefined {
  if (amount.kind === 'root') return { kind: 'name', name: amount.name, templateArguments: [] };
  if (amount.kind !== 'constant') return undefined;
  return {
    kind: 'number',
    value: amount.value,
    type: amount.isFloating ? 'double' : 'int',
    text: String(amount.value),
  };
}

const spaceOf = ({ base }: CType): 'host' | 'device' => (/device_vector$/.test(base) ? 'device' : 'host');

const isFloatingType = ({ base, pointers }: CType): boolean =>
  pointers === 0 && /^(?:float|double|half|__half)$/.test(base);

const isArithmetic = ({ base, pointers }: CType): boolean =>
  pointers === 0 && (sizeOfNamed(base) !== undefined || base === 'auto');
