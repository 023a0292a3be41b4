/** Source text of the expression language, or a literal number. See expressions/. */
export type Expression = string | number;

/** A parsed expression. `column` counts from 1 in the expression's text. */
export type ExpressionNode =
  | { readonly kind: 'number'; readonly value: number; readonly column: number }
  | { readonly kind: 'name'; readonly name: string; readonly column: number }
  | { readonly kind: 'unary'; readonly operator: string; readonly operand: ExpressionNode; readonly column: number }
  | {
      readonly kind: 'binary';
      readonly operator: string;
      readonly left: ExpressionNode;
      readonly right: ExpressionNode;
      readonly column: number;
    }
  | {
      readonly kind: 'conditional';
      readonly condition: ExpressionNode;
      readonly whenTrue: ExpressionNode;
      readonly whenFalse: ExpressionNode;
      readonly column: number;
    }
  | {
      readonly kind: 'call';
      readonly functionName: string;
      readonly arguments: readonly ExpressionNode[];
      readonly column: number;
    };

/** Direct parts of a node. */
export function childrenOf(node: ExpressionNode): readonly ExpressionNode[] {
  switch (node.kind) {
    case 'number':
    case 'name':
      return [];
    case 'unary':
      return [node.operand];
    case 'binary':
      return [node.left, node.right];
    case 'conditional':
      return [node.condition, node.whenTrue, node.whenFalse];
    case 'call':
      return node.arguments;
  }
}
