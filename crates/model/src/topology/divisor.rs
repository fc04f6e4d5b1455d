//! Division by a number that stays the same, as a multiplication.

/// A number to divide by, at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Divisor {
    divisor: u32,
    /// 2^64 / divisor, rounded up; 0 for 1. The quotient of any 32-bit number is exact (D. Lemire, O. Kaser,
    /// N. Kurz, "Faster remainder by direct computation", 2019).
    reciprocal: u64,
}

impl Divisor {
    pub fn new(divisor: u32) -> Divisor {
        let divisor = divisor.max(1);
        Divisor { divisor, reciprocal: (u64::MAX / u64::from(divisor)).wrapping_add(1) }
    }

    #[inline(always)]
    pub fn get(self) -> u32 {
        self.divisor
    }

    #[inline(always)]
    pub fn divide(self, number: u32) -> u32 {
        if self.reciprocal == 0 {
            number
        } else {
            ((u128::from(self.reciprocal) * u128::from(number)) >> 64) as u32
        }
    }

    #[inline(always)]
    pub fn remainder(self, number: u32) -> u32 {
        number - self.divide(number) * self.divisor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn divides(number: u32, divisor in 1u32.., near in 0u32..3) {
            for number in [number, number / divisor * divisor, u32::MAX - near, near] {
                for divisor in [divisor, 1, 2, 3, u32::MAX - near, 1 << (divisor % 32)] {
                    prop_assert_eq!(Divisor::new(divisor).divide(number), number / divisor);
                    prop_assert_eq!(Divisor::new(divisor).remainder(number), number % divisor);
                }
            }
        }
    }
}
