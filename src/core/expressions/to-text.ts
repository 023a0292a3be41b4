import { BINARY_OPERATORS } from './operators.ts';
import type { ExpressionNode } from './syntax-tree.ts';

/** An expression's part as text, with no more parentheses than it needs. */
export function textOf(node: ExpressionNode): string {
  switch (node.kind) {
    case 'number':
      return String(node.value);
    case 'name':
      return node.name;
    case 'unary':
      return `${node.operator}${operandOf(node.operand, Number.POSITIVE_INFINITY)}`;
    case 'binary': {
      const { precedence } = BINARY_OPERATORS.get(node.operator)!;
      return `${operandOf(node.left, precedence)} ${node.operator} ${operandOf(node.right, precedence + 1)}`;
    }
    case 'conditional':
      return `${operandOf(node.condition, 1)} ? ${textOf(node.whenTrue)} : ${textOf(node.whenFalse)}`;
    case 'call':
      return `${node.functionName}(${node.arguments.map(textOf).join(', ')})`;
  }
}

/** In parentheses if it binds less tightly than its place asks for. */
function operandOf(node: ExpressionNode, least: number): string {
  const precedence =
    node.kind === 'binary'
      ? BINARY_OPERATORS.get(node.operator)!.precedence
      : node.kind === 'conditional'
        ? 0
        : Number.POSITIVE_INFINITY;
  return precedence < least ? `(${textOf(node)})` : textOf(node);
}
