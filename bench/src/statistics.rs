//! Several figures as one.

/// The middle of several samples.
pub fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The sum of several samples, divided by how many they are.
pub fn mean(samples: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = samples.len() as f64;
    samples.sum::<f64>() / count
}

/// The geometric mean: what ratios are averaged by.
pub fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = ratios.fold((0.0, 0.0), |(sum, count), ratio| (sum + ratio.ln(), count + 1.0));
    f64::exp(sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_as_much_and_half_as_much_are_equal_on_average() {
        assert!((geometric_mean([0.5, 2.0].into_iter()) - 1.0).abs() < 1e-12);
        assert!(geometric_mean(std::iter::empty()).is_nan());
    }

    #[test]
    fn the_mean_counts_what_came_once() {
        assert!((mean([0.0, 0.0, 3.0].into_iter()) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_median_leaves_outliers_out() {
        assert_eq!(median(vec![3.0, 1000.0, 1.0]).to_bits(), 3.0_f64.to_bits());
    }
}
